package redial

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Ping calls procedure 0 of a program, which does nothing (RFC 5531 section 12.1), over all
// connections in use at once. If there is none, it makes one as a call does. It uses AUTH_NONE,
// which the server must accept (oncrpc.ServerConfig.Flavors). Ping returns nil if all calls
// succeed, or else their errors joined, each an *oncrpc.CallError. If the server lacks the program,
// it returns an error that errors.As matches with *oncrpc.AcceptError.
//
// A connection that does not answer before ctx ends stays in use. Like any other, it is closed
// after Config.Stall, if ctx lasts that long.
func (c *Conn) Ping(ctx context.Context, program, version uint32) error {
	one, err := c.take(ctx, nil, new(time.Time))
	if err != nil {
		return err
	}
	links := *c.links.Load()
	if len(links) == 0 {
		links = []*link{one} // it has just ended, and its error says why
	}
	errs := make([]error, len(links))
	var wg sync.WaitGroup
	for i, l := range links {
		wg.Go(func() {
			client := oncrpc.NewClient(single{l.conn, c, l}, program, version, oncrpc.AuthNone())
			errs[i] = client.Call(ctx, 0, nil, nil)
		})
	}
	one.leave()
	wg.Wait()
	return errors.Join(errs...)
}

// single makes calls like its Conn, but over one connection.
type single struct {
	oncrpc.Transport
	conn *Conn
	link *link
}

// RoundTrip makes a call.
func (s single) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	x.XID = s.conn.nextXID()
	s.link.enter()
	_, err := s.conn.over(ctx, s.link, x)
	return err
}
