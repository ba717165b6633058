package rdma

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// server accepts one connection. It answers each message with one, and lends its memory.
type server struct {
	listener transport.Listener
	accepted chan error
	*end     // once accepted has yielded no error; nil if nobody came
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
	r, err := ep.Expose([]transport.Slice{e.bulk}, transport.RemoteRead|transport.RemoteWrite)
	if err != nil {
		return errors.Join(err, e.close())
	}
	putWindow(e.message.Bytes, r)
	s.end = e
	ep.Start(s)
	return nil
}

// Received answers.
func (s *server) Received(batch []transport.Message) {
	s.again(batch)
	s.sends.post(len(batch))
}

func (s *server) Addr() string { return s.listener.Addr().String() }

// Close ends listening and the connection.
func (s *server) Close() error {
	err := errors.Join(s.listener.Close(), <-s.accepted)
	if s.end != nil {
		err = errors.Join(err, s.end.close())
	}
	return err
}
