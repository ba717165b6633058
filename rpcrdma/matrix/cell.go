package matrix

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Cell is one call and its reply.
type Cell struct {
	Name          string
	Args, Results []Item
	// Room has the lengths in bytes of the caller's buffers for bulk results, in order. nil means
	// that each result has a buffer of the right length.
	Room []int
	// MaxReply is the length in bytes that the caller expects of results without a buffer. 0 means
	// their true length.
	MaxReply       int
	Client, Server rpcrdma.Config
	RFC8166, Draft Want
}

// Want is the expected traffic. A message is written as its type, the length of its Send in bytes,
// and its chunk lists. A chunk is written as the lengths of its segments; a read chunk has its
// position in front. In a reply, write and reply chunks have the returned lengths:
//
//	MSG 124 read 52:1024+976 write 4096 reply 512
//	MSGP 320 align 64 thresh 128 pad 12
//	ERROR 20 ERR_CHUNK
type Want struct {
	Call  string // "" if nothing is sent
	Reply string
	Err   error // the caller's error, unless Reply is an ERROR
}

// Dialect returns the Want for a dialect.
func (c *Cell) Dialect(d rpcrdma.Dialect) *Want {
	if d == rpcrdma.Draft {
		return &c.Draft
	}
	return &c.RFC8166
}

// credits are few, so that a connection takes little memory.
const credits = 8

// Config returns c for a dialect, with few credits and without a log.
func Config(c rpcrdma.Config, d rpcrdma.Dialect) rpcrdma.Config {
	c.Dialect, c.Logger, c.Credits = d, slog.New(slog.DiscardHandler), credits
	return c
}

// Outcome is the result of a call.
type Outcome struct {
	Err   error         // of the call
	Stats rpcrdma.Stats // of the caller
}

// Run serves the program on l, makes the call through d, and then calls procedure 0. The connection
// has ended when Run returns. An error of Run itself is not an expected outcome of any cell.
func (c *Cell) Run(ctx context.Context, dialect rpcrdma.Dialect, l transport.Listener,
	d transport.Dialer) (o Outcome, err error) {
	s := NewServer(c)
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(ctx, l, s.Server, Config(c.Server, dialect)) }()
	defer func() {
		s.Close()
		if e := <-served; !errors.Is(e, oncrpc.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		err = errors.Join(err, s.Err())
	}()
	conn, err := rpcrdma.Dial(ctx, d, l.Addr().String(), Config(c.Client, dialect))
	if err != nil {
		return o, err
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	o.Err = c.Call(ctx, conn, 1)
	// After this, the server has finished everything that the call caused.
	if err := c.null(ctx, conn); err != nil {
		return o, fmt.Errorf("the connection does not work any more: %w", errors.Join(err, o.Err))
	}
	o.Stats = conn.Stats()
	return o, nil
}

// null calls the null procedure.
func (c *Cell) null(ctx context.Context, conn oncrpc.Transport) error {
	return oncrpc.NewClient(conn, Program, Version, oncrpc.AuthNone()).Call(ctx, 0, nil, nil)
}

// errWrong means that the reply was accepted, but its results are wrong.
var errWrong = errors.New("wrong results")

// Call makes the call as the given procedure.
func (c *Cell) Call(ctx context.Context, conn oncrpc.Transport, procedure uint32) error {
	rooms := [][]byte{}
	if c.Room != nil {
		for _, n := range c.Room {
			rooms = append(rooms, make([]byte, n))
		}
	} else {
		for _, it := range c.Results {
			if !it.Text {
				rooms = append(rooms, make([]byte, it.Len))
			}
		}
	}
	got := &list{rooms: rooms}
	r := oncrpc.Request{
		Procedure: procedure,
		Args:      &list{items: c.Args, seed: ArgSeed},
		Reply:     got,
		MaxReply:  c.MaxReply,
		Results:   rooms,
	}
	if r.MaxReply == 0 {
		r.MaxReply = streamLen(c.Results, len(rooms))
	}
	if err := oncrpc.NewClient(conn, Program, Version, oncrpc.AuthNone()).Do(ctx, &r); err != nil {
		return err
	}
	if err := got.compare(c.Results, ResultSeed); err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	return nil
}
