package transport_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// meter counts the work requests that have been posted to the endpoints it wraps.
type meter struct{ requests atomic.Int64 }

// wrap returns ep as an endpoint that counts. Requests can go past Post where ep is a Poller:
// then the wrapper is one, too.
func (m *meter) wrap(ep transport.Endpoint) transport.Endpoint {
	e := metered{ep, m}
	if p, ok := transport.As[transport.Poller](ep); ok {
		return meteredPoller{e, p}
	}
	return e
}

func (m *meter) count(requests int, err error) error {
	if err == nil {
		m.requests.Add(int64(requests))
	}
	return err
}

type metered struct {
	transport.Endpoint
	meter *meter
}

// Unwrap is what As finds all other abilities of the endpoint by.
func (e metered) Unwrap() transport.Endpoint { return e.Endpoint }

func (e metered) Post(wrs ...*transport.WorkRequest) error {
	return e.meter.count(len(wrs), e.Endpoint.Post(wrs...))
}

type meteredPoller struct {
	metered
	transport.Poller
}

func (e meteredPoller) PostPolled(wrs ...*transport.WorkRequest) error {
	return e.meter.count(len(wrs), e.Poller.PostPolled(wrs...))
}

// A program counts the requests that it posts over any provider. It gives the layers above the
// Dialer that WrapDialer returns.
func ExampleWrapDialer() {
	fabric := loopback.New()
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		req, _ := l.Accept(context.Background())
		server, _ := req.Accept(context.Background(), nil)
		server.PostRecv(new(transport.RecvRequest), new(transport.RecvRequest))
		server.Start(ignore{})
	}()

	var posted meter
	var dialer transport.Dialer = fabric.Dialer(loopback.Config{})
	dialer = transport.WrapDialer(dialer, posted.wrap)
	client, err := dialer.Dial(context.Background(), "server", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	client.Start(ignore{})
	client.Post(
		&transport.WorkRequest{Op: transport.OpSend, Done: ignore{}},
		&transport.WorkRequest{Op: transport.OpSend, Done: ignore{}},
	)
	fmt.Println(posted.requests.Load(), "requests")
	client.Close()
	<-client.Done()
	// Output: 2 requests
}

// ignore takes messages and completions.
type ignore struct{}

func (ignore) Received([]transport.Message)           {}
func (ignore) Complete(*transport.WorkRequest, error) {}
