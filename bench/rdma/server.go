package rdma

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// bulkAccess is what clients may do with the server's memory.
const bulkAccess = transport.RemoteRead | transport.RemoteWrite

// errSplit: the protocol here can announce only one window.
var errSplit = errors.New("rdma: the provider cannot expose 1 MiB as one window")

// server accepts one connection. It answers each message with one, and lends its memory.
type server struct {
	listener transport.Listener
	accepted chan error
	*end     // valid once accepted has returned nil; nil if no client came
}

func serve(l transport.Listener) *server {
	s := &server{listener: l, accepted: make(chan error, 1)}
	go func() { s.accepted <- s.accept() }()
	return s
}

func (s *server) accept() error {
	request, err := s.listener.Accept(context.Background())
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	ep, err := request.Accept(context.Background(), nil)
	if err != nil {
		return err
	}
	e, err := newEnd(ep)
	if err != nil {
		return err
	}
	window, err := ep.Expose(nil, []transport.Slice{e.bulk}, bulkAccess)
	if err == nil && len(window) != 1 {
		err = errSplit
	}
	if err != nil {
		return errors.Join(err, e.close())
	}
	putWindow(e.message.Bytes, window[0])
	s.end = e
	ep.Start(s)
	return nil
}

// Received answers each message.
func (s *server) Received(batch []transport.Message) {
	s.again(batch)
	s.sends.post(len(batch))
}

func (s *server) Addr() string { return s.listener.Addr().String() }

// Close closes the listener and the connection.
func (s *server) Close() error {
	err := errors.Join(s.listener.Close(), <-s.accepted)
	if s.end != nil {
		err = errors.Join(err, s.end.close())
	}
	return err
}
