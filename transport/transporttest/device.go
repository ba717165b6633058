package transporttest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// deviceLimits are within those of many adapters, and below those of any software provider.
var deviceLimits = Limits{
	MaxSendSGE: 3, MaxRecvSGE: 2, MaxReadSGE: 1,
	MaxMessage: 64 << 10, MaxRegion: 1 << 20, MaxRegions: 2048, NoHold: true,
}

// Private data of a RoCE adapter in bytes, in the REQ, REP and REJ (IBTA annex A11).
const (
	devicePrivateRequest = 56
	devicePrivateReply   = 196
	devicePrivateRefusal = 148
)

// Device makes of a provider one that lacks everything that an adapter lacks, at once. It is a
// stand-in for adapters, which are not everywhere:
//
//   - There are no optional abilities. So memory of others is copied.
//   - Requests have few elements, and RDMA Reads one. Each Slice takes a Region.
//   - The peer cannot invalidate. Its Send with Invalidate ends the connection.
//   - From the beginning, RDMA Reads and Writes are served, and messages taken into receives. A
//     message that finds no receive ends the connection, even before Start.
//   - Only the end that posted an operation learns why it was refused. No end learns which messages
//     were solicited.
//   - Private data is short, and padded with zeros.
//
// In a Factory for it, MayNotKnow, ServesUnstarted and NoSolicited are set.
func Device(l transport.Listener, d transport.Dialer) (transport.Listener, transport.Dialer) {
	return deviceListener{l}, deviceDialer{d}
}

type deviceListener struct{ transport.Listener }

// MaxPrivateReply implements transport.Listener.
func (deviceListener) MaxPrivateReply() (accept, reject int) {
	return devicePrivateReply, devicePrivateRefusal
}

// Accept implements transport.Listener.
func (l deviceListener) Accept(ctx context.Context) (transport.Request, error) {
	req, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return deviceRequest{req}, nil
}

type deviceRequest struct{ transport.Request }

// Unwrap returns the request below.
func (r deviceRequest) Unwrap() transport.Request { return r.Request }

// Accept implements transport.Request.
func (r deviceRequest) Accept(ctx context.Context, prepare transport.Preparation) (
	transport.Endpoint, error) {
	return onDevice(prepare, devicePrivateReply,
		func(p transport.Preparation) (transport.Endpoint, error) {
			return r.Request.Accept(ctx, p)
		})
}

// Reject implements transport.Request.
func (r deviceRequest) Reject(private []byte) error {
	if len(private) > devicePrivateRefusal {
		return deviceError("reject", transport.ErrPrivateData)
	}
	return r.Request.Reject(private)
}

type deviceDialer struct{ transport.Dialer }

// MaxPrivateData implements transport.Dialer.
func (deviceDialer) MaxPrivateData() int { return devicePrivateRequest }

// Dial implements transport.Dialer.
func (d deviceDialer) Dial(ctx context.Context, addr string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	return onDevice(prepare, devicePrivateRequest,
		func(p transport.Preparation) (transport.Endpoint, error) {
			return d.Dialer.Dial(ctx, addr, p)
		})
}

func deviceError(op string, err error) error {
	return &transport.OpError{Op: op, Provider: "device", Err: err}
}

// onDevice makes an endpoint by a Dial or Accept, with at most so much private data.
func onDevice(prepare transport.Preparation, most int,
	by func(transport.Preparation) (transport.Endpoint, error)) (transport.Endpoint, error) {
	var e *device
	_, err := by(func(below transport.Endpoint) ([]byte, error) {
		e = newDevice(below)
		private, err := prepare.Prepare(e)
		if err != nil {
			return nil, err
		}
		if len(private) > most {
			return nil, transport.ErrPrivateData
		}
		return slices.Concat(private, make([]byte, most-len(private))), nil
	})
	if err != nil {
		return nil, err
	}
	e.Endpoint.Start(e)
	return e, nil
}

// unable is an endpoint for Limit. A device does not call its abilities.
type unable struct {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	transport.Poller
	transport.ProgressReporter
}

// device is an endpoint of a Device. It starts the one below at once, and keeps its messages until
// it is started itself.
type device struct {
	transport.Endpoint
	done       chan struct{}
	delivering sync.Mutex // held while messages that were kept are delivered

	mu      sync.Mutex // guards what follows
	kept    []transport.Message
	handler transport.MessageHandler // nil until all that was kept has been delivered
	gone    bool                     // the upper layer has ended the goroutine that delivered
}

func newDevice(below transport.Endpoint) *device {
	e := &device{
		Endpoint: Limit(unable{Endpoint: below}, deviceLimits), done: make(chan struct{}),
	}
	go func() {
		<-below.Done()
		e.delivering.Lock()
		defer e.delivering.Unlock()
		close(e.done)
	}()
	return e
}

// Received implements transport.MessageHandler, for the endpoint below.
func (e *device) Received(batch []transport.Message) {
	e.mu.Lock()
	handler := e.handler
	for i := range batch {
		batch[i].Solicited = false
	}
	if handler == nil {
		e.kept = append(e.kept, batch...)
	}
	e.mu.Unlock()
	if handler != nil {
		handler.Received(batch)
	}
}

// Start implements transport.Endpoint. It returns when what was kept has been delivered, or when
// that is the last thing that its goroutine has done.
func (e *device) Start(r transport.MessageHandler) {
	delivered := make(chan struct{})
	go func() { // as a provider calls no handler on the goroutine of its caller
		defer close(delivered)
		e.deliver(r)
	}()
	<-delivered
}

// deliver delivers what was kept, unless the connection has ended.
func (e *device) deliver(r transport.MessageHandler) {
	e.delivering.Lock()
	defer e.delivering.Unlock()
	defer func() {
		e.mu.Lock()
		e.gone = e.handler == nil
		e.mu.Unlock()
		if e.gone {
			e.Endpoint.Close()
		}
	}()
	for {
		e.mu.Lock()
		batch := e.kept
		e.kept = nil
		if len(batch) == 0 {
			e.handler = r
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		select {
		case <-e.Endpoint.Done():
		default:
			r.Received(batch)
		}
	}
}

// Done implements transport.Endpoint.
func (e *device) Done() <-chan struct{} { return e.done }

// Info implements transport.Endpoint.
func (e *device) Info() transport.Info {
	info := e.Endpoint.Info()
	info.RemoteInvalidate = false
	return info
}

// Err implements transport.Endpoint. An end whose peer posted what was refused does not know.
func (e *device) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return deviceError("receive", transport.ErrGoexit)
	}
	err := e.Endpoint.Err()
	for _, refused := range []error{
		transport.ErrRemoteAccess, transport.ErrNoReceive, transport.ErrTooLong,
		transport.ErrTooManyReads,
	} {
		if errors.Is(err, refused) && !errors.Is(err, transport.ErrTerminated) {
			return deviceError("receive", transport.ErrClosedByPeer)
		}
	}
	return err
}

// deviceDomain is a Domain that hides its abilities.
type deviceDomain struct{ transport.Domain }

// Domain implements transport.Endpoint.
func (e *device) Domain() transport.Domain { return deviceDomain{e.Endpoint.Domain()} }

// Expose implements transport.Endpoint.
func (e *device) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	return e.Endpoint.Expose(dst, list, access&^transport.RemoteInvalidate)
}
