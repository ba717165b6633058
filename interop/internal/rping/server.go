package rping

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Serve answers the pings of the client at the other end of ep, which must not have been started,
// until the client closes the connection between two pings. It returns the number of pings
// answered.
func Serve(ctx context.Context, ep transport.Endpoint, o Options) (int, error) {
	c, err := open(ep)
	if err != nil {
		return 0, err
	}
	defer c.close()
	s, err := newPonger(c, o)
	if err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		source, err := c.receive(ctx)
		if errors.Is(err, transport.ErrClosedByPeer) {
			return n, nil
		}
		if err == nil {
			err = s.pong(ctx, n, source)
		}
		if err != nil {
			return n, err
		}
	}
}

// ponger is a server with its buffers.
type ponger struct {
	*conn
	Options
	data    transport.Slice
	goAhead transport.Slice // all zeros, as in rping
}

func newPonger(c *conn, o Options) (*ponger, error) {
	s := &ponger{conn: c, Options: o}
	var err error
	if s.data, err = c.alloc(MaxSize, transport.LocalWrite); err != nil {
		return nil, err
	}
	if s.goAhead, err = c.alloc(advertLen, 0); err != nil {
		return nil, err
	}
	clear(s.goAhead.Bytes)
	return s, nil
}

// pong answers one ping whose first message has arrived.
func (s *ponger) pong(ctx context.Context, n int, source Advert) error {
	if source.Size < MinSize || source.Size > MaxSize {
		return fmt.Errorf("rping: ping %d: size %d is not in the range from %d to %d", n, source.Size, MinSize, MaxSize)
	}
	data := s.data.Sub(0, int(source.Size))
	clear(data.Bytes) // anything in it later comes from the Read
	if err := s.move(ctx, transport.OpRead, source, data); err != nil {
		return err
	}
	if s.Verify {
		if err := verify(data.Bytes, n); err != nil {
			return err
		}
	}
	if err := s.print("server ping data", data.Bytes); err != nil {
		return err
	}
	if err := s.send(s.goAhead); err != nil {
		return err
	}
	sink, err := s.receive(ctx)
	if err != nil {
		return err
	}
	// Like rping, write back only the text with its NUL.
	back := data.Sub(0, min(len(text(data.Bytes))+1, data.Len()))
	if int64(sink.Size) < int64(back.Len()) {
		return fmt.Errorf("rping: ping %d: %d bytes for a sink buffer of %d", n, back.Len(), sink.Size)
	}
	if err := s.move(ctx, transport.OpWrite, sink, back); err != nil {
		return err
	}
	return s.send(s.goAhead)
}
