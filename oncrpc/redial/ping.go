package redial

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Ping calls procedure 0 of a program, which does nothing (RFC 5531 section 12.1), with AUTH_NONE,
// which the server must accept (oncrpc.ServerConfig.Flavors), over each of the connections in use
// at the same time. If there is none, it makes one as a call does. It returns nil if all have been
// answered, or else the errors of those that have not, each an *oncrpc.CallError, joined. That the
// server has not got the program is an error, too: errors.As finds an *oncrpc.AcceptError.
//
// A connection that does not answer before ctx ends stays in use. It is closed after
// Config.Stall, as with any call, if ctx lasts that long.
func (c *Conn) Ping(ctx context.Context, program, version uint32) error {
	one, err := c.take(ctx, new(time.Time))
	if err != nil {
		return err
	}
	links := *c.links.Load()
	if len(links) == 0 {
		links = []*link{one} // has just ended, and will say why
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

// single makes calls as its Conn does, but over one connection.
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
