package kernelsctp

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// association is an association of the kernel.
type association struct {
	socket        *socket
	local, remote sctp.Addr
	streams       int

	mu       sync.Mutex // guards what follows
	changed  sync.Cond
	queue    []message // for the kernel
	sent     []message // given to the kernel, which may still hold some
	bytes    int       // in sent
	outgoing map[uint16]*outgoing
	timer    *time.Timer
	err      error // why nothing is sent any more
}

// message is a message for the peer.
type message struct {
	out  *outgoing
	id   uint16
	ppid uint32
	data []byte
}

// outgoing is the state of one stream to the peer.
type outgoing struct {
	bytes int // unacknowledged
	below int // f is called when bytes falls below this; 0: never
	f     func()
}

var _ lower.Association = (*association)(nil)

// startup bounds the wait for the peer's indication from the kernel.
const startup = 10 * time.Second

// begin takes over a connected socket whose peer indicates DDP.
func begin(s *socket) (*association, error) {
	a := &association{socket: s, outgoing: make(map[uint16]*outgoing)}
	a.changed.L = &a.mu
	if err := a.begin(); err != nil {
		s.end("")
		return nil, err
	}
	go a.write()
	return a, nil
}

func (a *association) begin() (err error) {
	if err := a.agree(); err != nil {
		return err
	}
	st, err := a.socket.status()
	if err != nil {
		return err
	}
	a.streams = min(st.in, st.out)
	if a.local, err = a.socket.address(unix.Getsockname); err != nil {
		return err
	}
	a.remote, err = a.socket.address(unix.Getpeername)
	return err
}

// agree waits for the peer's indication. The kernel reports it before the first message.
func (a *association) agree() error {
	if err := a.socket.file.SetReadDeadline(time.Now().Add(startup)); err != nil {
		return err
	}
	for {
		var p [256]byte
		n, r, err := a.socket.receive(p[:])
		switch {
		case err != nil:
			return err
		case !r.notification:
			return &sctp.IndicationError{Peer: sctp.NoIndication, Want: sctp.DDP}
		case native.Uint16(p[:]) == eventAdaptation && n >= 12:
			if peer := sctp.Indication(native.Uint32(p[8:])); peer != sctp.DDP {
				return &sctp.IndicationError{Peer: peer, Want: sctp.DDP}
			}
			return a.socket.file.SetReadDeadline(time.Time{})
		}
		if err := a.notified(p[:n]); err != nil {
			return err
		}
	}
}

// notified takes a notification. An error means that the association has ended.
func (a *association) notified(p []byte) error {
	switch kind := native.Uint16(p); {
	case kind == eventSenderDry:
		a.acknowledge()
	case kind == eventAssociation && len(p) >= 12:
		switch native.Uint16(p[8:]) {
		case stateShutdown:
			return io.EOF
		case stateLost, stateCannotBegin:
			return fmt.Errorf("the association is lost, error %d: %w", native.Uint16(p[10:]),
				unix.ECONNRESET)
		}
	}
	return nil
}

func (a *association) Streams() int     { return a.streams }
func (a *association) FirstTSN() uint32 { return 0 }

// leastMessage is a message size that every path takes.
const leastMessage = 516

func (a *association) MaxMessage() int {
	st, err := a.socket.status()
	if err != nil { // it has ended
		return leastMessage
	}
	return st.fragment
}

// out returns a stream; a.mu is held.
func (a *association) out(stream uint16) *outgoing {
	o := a.outgoing[stream]
	if o == nil {
		o = new(outgoing)
		a.outgoing[stream] = o
	}
	return o
}

func (a *association) Send(stream uint16, ppid uint32, p []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	o := a.out(stream)
	o.bytes += len(p)
	a.queue = append(a.queue, message{o, stream, ppid, append([]byte(nil), p...)})
	a.changed.Signal()
	return nil
}

// write hands messages to the kernel, and may wait for it.
func (a *association) write() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for len(a.queue) == 0 && a.err == nil {
			a.changed.Wait()
		}
		if a.err != nil {
			return
		}
		m := a.queue[0]
		a.queue[0] = message{} // its data may go
		a.queue = a.queue[1:]
		a.mu.Unlock()
		err := a.socket.send(m.id, m.ppid, m.data)
		a.mu.Lock()
		if err != nil {
			a.err = err // Receive fails, too
			return
		}
		a.sent = append(a.sent, m)
		a.bytes += len(m.data)
		if a.awaited() { // otherwise nobody needs to know
			a.mu.Unlock()
			a.acknowledge()
			a.mu.Lock()
		}
	}
}

// awaited reports whether somebody waits for acknowledgements; a.mu is held.
func (a *association) awaited() bool {
	for _, o := range a.outgoing {
		if o.below > 0 {
			return true
		}
	}
	return false
}

// acknowledge finds out what the peer has acknowledged, and calls those that wait for it. The
// kernel sends messages in the order given, and keeps each until all up to it are acknowledged. Its
// memory for a message is larger than the message. So the unacknowledged messages are among the
// last ones whose total length is at most the kernel's memory use.
func (a *association) acknowledge() {
	a.mu.Lock()
	queued, err := a.socket.queued()
	if err != nil { // it has ended
		a.mu.Unlock()
		return
	}
	for len(a.sent) > 0 && a.bytes > queued {
		m := &a.sent[0]
		m.out.bytes -= len(m.data)
		a.bytes -= len(m.data)
		m.data = nil
		a.sent = a.sent[1:]
	}
	var calls []func()
	for _, o := range a.outgoing {
		if o.bytes < o.below {
			calls = append(calls, o.f)
			o.below, o.f = 0, nil
		}
	}
	a.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

func (a *association) Unacknowledged(stream uint16) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out(stream).bytes
}

func (a *association) Acknowledged(stream uint16, below int, f func()) {
	a.mu.Lock()
	o := a.out(stream)
	o.below, o.f = below, f
	a.mu.Unlock()
	a.acknowledge()
}

// Receive implements lower.Association. If a message was fragmented, Last is wrong.
func (a *association) Receive(p []byte) (lower.Message, error) {
	for {
		n, r, err := a.socket.receive(p)
		switch {
		case err != nil:
			return lower.Message{}, a.why(err)
		case r.notification:
			if err := a.notified(p[:n]); err != nil {
				return lower.Message{}, a.why(err)
			}
			continue
		}
		data := p[:n:n]
		for whole := r.whole; !whole; {
			rest := make([]byte, 1<<16)
			n, more, err := a.socket.receive(rest)
			if err != nil {
				return lower.Message{}, a.why(err)
			}
			data, whole = append(data, rest[:n]...), more.whole
		}
		return lower.Message{
			Stream: r.stream, PPID: r.ppid, Unordered: r.flags&flagUnordered != 0,
			First: r.tsn, Last: r.tsn, Data: data,
		}, nil
	}
}

// why returns why the association has ended.
func (a *association) why(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
		a.changed.Signal()
	}
	return a.err
}

// Watch does nothing: the kernel sends heartbeats.
func (a *association) Watch(done <-chan struct{}) { <-done }

// shutdownTimeout bounds the wait until the peer has acknowledged everything.
const shutdownTimeout = 5 * time.Second

func (a *association) Shutdown() {
	a.mu.Lock()
	a.timer = time.AfterFunc(shutdownTimeout, func() { a.Abort("") })
	a.mu.Unlock()
	a.socket.shutdown()
}

func (a *association) Abort(reason string) {
	a.mu.Lock()
	if a.err == nil {
		a.err = os.ErrClosed
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.changed.Signal()
	a.mu.Unlock()
	a.socket.end(reason)
}
