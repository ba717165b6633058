package sctp

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// The messages that begin a session correspond to MPA's startup frames (RFC 6581 section 7).
// Initiate is a request; Accept and Reject are replies. The enhanced ones carry the same enhanced
// data. So package mpa does the negotiation.

var _ mpa.FrameConn = (*Conn)(nil)

// Silent reports whether startup frames are not sent, as in the draft.
func (c *Conn) Silent() bool { return c.a.cfg.Draft }

// WriteFrame sends a startup frame as a session control message. In the draft it sends nothing: a
// stream exists once it is used.
func (c *Conn) WriteFrame(f *mpa.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.last {
		return io.EOF
	}
	if c.a.cfg.Draft {
		return c.writeDraftFrame(f)
	}
	m := control{function: initiate, private: f.PrivateData}
	next := asked
	switch {
	case f.Reply && f.Reject:
		m.function, next = reject, concluded
	case f.Reply:
		m.function, next = accept, open
	}
	if f.Enhanced {
		m.function += enhancedInitiate - initiate
		if next == asked {
			next = askedEnhanced
		}
	}
	if f.Reply && c.state != asked && c.state != askedEnhanced || !f.Reply && c.state != idle {
		return fmt.Errorf("sctp: %v not allowed now", m.function)
	}
	if err := c.sendControl(m); err != nil {
		return err
	}
	switch c.state = next; next {
	case open:
		atomic.AddUint64(&c.a.cfg.Counters.stats.Sessions, 1)
	case concluded:
		c.said, c.last = true, true // the peer is silent from now on
		c.changed.Broadcast()
	}
	return nil
}

// ReadFrame waits for a startup frame: a reply on the side that asked for the session, a request on
// the other. It returns 1 if one came, otherwise 0 and an error. A Terminate is io.EOF.
func (c *Conn) ReadFrame(f *mpa.Frame) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.await(func() bool { return len(c.setup) > 0 }); err != nil {
		return 0, err
	}
	m := c.setup[0]
	c.setup = c.setup[1:]
	*f = mpa.Frame{
		Reply:       m.function != initiate && m.function != enhancedInitiate,
		Reject:      m.function == reject || m.function == enhancedReject,
		Enhanced:    m.function.enhanced(),
		Revision:    1,
		PrivateData: m.private,
	}
	if f.Enhanced {
		f.Revision = 2
	}
	return 1, nil
}
