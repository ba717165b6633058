package paired

import (
	"context"
	"errors"
	"net"
)

// serving is the Server that Serve returns.
type serving struct {
	addr   string
	cancel context.CancelFunc
	served chan error
}

// Serve returns a Server at addr that runs serve until it is closed. serve must return
// context.Canceled when its context ends.
func Serve(ctx context.Context, addr net.Addr, serve func(context.Context) error) Server {
	s := &serving{addr: addr.String(), served: make(chan error, 1)}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() { s.served <- serve(ctx) }()
	return s
}

func (s *serving) Addr() string { return s.addr }

func (s *serving) Close() error {
	s.cancel()
	if err := <-s.served; !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
