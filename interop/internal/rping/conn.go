package rping

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// receives is how many receives are posted. The ends take turns, so one is in use at a time, and
// the next message may arrive while that is being posted again.
const receives = 4

// conn lets one goroutine wait for an endpoint's operations and messages.
type conn struct {
	ep       transport.Endpoint
	memory   []transport.Slice
	windows  []transport.Region
	messages chan [advertLen]byte
	failed   chan error // of a Send or an unexpected message; capacity 1
	done     chan error // of the operation waited for
}

// open starts the endpoint and posts receives.
func open(ep transport.Endpoint) (*conn, error) {
	c := &conn{
		ep:       ep,
		messages: make(chan [advertLen]byte, receives),
		failed:   make(chan error, 1),
		done:     make(chan error, 1),
	}
	for range receives {
		s, err := c.alloc(advertLen, transport.LocalWrite)
		if err == nil {
			err = ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{s}})
		}
		if err != nil {
			c.close()
			return nil, err
		}
	}
	ep.Start(c)
	return c, nil
}

// close closes the connection and frees the memory.
func (c *conn) close() {
	c.ep.Close()
	<-c.ep.Done()
	c.ep.Revoke(c.windows...)
	for _, s := range c.memory {
		c.ep.Domain().Free(s)
	}
}

func (c *conn) alloc(n int, access transport.Access) (transport.Slice, error) {
	s, err := c.ep.Domain().Alloc(n, access)
	if err == nil {
		c.memory = append(c.memory, s)
	}
	return s, err
}

// expose opens a window, and returns the message that announces it to the peer.
func (c *conn) expose(s transport.Slice, access transport.Access) (transport.Slice, error) {
	first := len(c.windows)
	var err error
	if c.windows, err = c.ep.Expose(c.windows, []transport.Slice{s}, access); err != nil {
		return transport.Slice{}, err
	}
	r := c.windows[first]
	if r.Len != uint64(s.Len()) {
		return transport.Slice{}, errors.New("rping: the provider cannot make one window")
	}
	msg, err := c.alloc(advertLen, 0)
	if err != nil {
		return transport.Slice{}, err
	}
	Advert{Offset: r.Base, STag: r.STag, Size: uint32(r.Len)}.Append(msg.Bytes[:0])
	return msg, nil
}

// Received implements transport.MessageHandler.
func (c *conn) Received(batch []transport.Message) {
	for _, m := range batch {
		if m.Len != advertLen {
			c.fail(fmt.Errorf("rping: a message of %d bytes, want %d", m.Len, advertLen))
			return
		}
		select {
		case c.messages <- [advertLen]byte(m.Receive.Local[0].Bytes):
		default:
			c.fail(errors.New("rping: the peer sends out of turn"))
			return
		}
		if err := c.ep.PostRecv(m.Receive); err != nil {
			c.fail(err)
		}
	}
}

// Complete implements transport.Completer.
func (c *conn) Complete(wr *transport.WorkRequest, err error) {
	switch {
	case wr.Op != transport.OpSend:
		c.done <- err
	case err != nil:
		c.fail(err)
	}
}

// fail keeps the first error.
func (c *conn) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

// send sends msg, which must not change afterwards.
func (c *conn) send(msg transport.Slice) error {
	return c.ep.Post(&transport.WorkRequest{
		Op: transport.OpSend, Flags: transport.Signaled, Local: []transport.Slice{msg}, Done: c,
	})
}

// move does an RDMA Read or Write and waits for its completion.
func (c *conn) move(ctx context.Context, op transport.Op, at Advert, local transport.Slice) error {
	err := c.ep.Post(&transport.WorkRequest{
		Op: op, Flags: transport.Signaled, Remote: at.remote(), Local: []transport.Slice{local}, Done: c,
	})
	if err != nil {
		return err
	}
	select {
	case err = <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive waits for the peer's next message.
func (c *conn) receive(ctx context.Context) (Advert, error) {
	var msg [advertLen]byte
	select {
	case msg = <-c.messages:
	case err := <-c.failed:
		return Advert{}, err
	case <-ctx.Done():
		return Advert{}, ctx.Err()
	case <-c.ep.Done():
		select {
		case msg = <-c.messages: // it arrived before the end
		default:
			return Advert{}, c.ep.Err()
		}
	}
	return ParseAdvert(msg[:])
}
