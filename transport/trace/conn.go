package trace

import (
	"context"
	"net"
)

// Listener returns l with each connection that it accepts traced.
func (w *Writer) Listener(l net.Listener) net.Listener {
	if w == nil {
		return l
	}
	return &listener{l, w}
}

type listener struct {
	net.Listener
	w *Writer
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.w.wrap(conn, server), nil
}

// DialContext returns dial with each connection that it makes traced, as Dialed does.
func (w *Writer) DialContext(dial DialFunc) DialFunc {
	if w == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return w.Dialed(conn), nil
	}
}

// DialFunc connects: the DialContext of a net.Dialer or tls.Dialer.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialed returns a connection that this end has dialled such that what passes is traced. It is to
// be used in place of conn from its first byte on. It has the methods CloseWrite, SetLinger and
// NetConn as far as conn has, and does what conn does. A *net.TCPConn that is traced is one of TCP
// to package iwarp as before.
//
// Not so the connections of package sctp: they are no streams of bytes. See Datagram.
func (w *Writer) Dialed(conn net.Conn) net.Conn {
	if w == nil {
		return conn
	}
	return w.wrap(conn, client)
}

// halfCloser and overTLS are abilities of connections that package iwarp looks for.
type (
	halfCloser interface{ CloseWrite() error }
	overTLS    interface{ NetConn() net.Conn }
)

// wrap returns conn, which is one end of a connection, traced.
func (w *Writer) wrap(conn net.Conn, here int) net.Conn {
	c := &traced{Conn: conn, here: here}
	if here == client {
		c.s = w.open(conn.LocalAddr(), conn.RemoteAddr())
	} else {
		c.s = w.open(conn.RemoteAddr(), conn.LocalAddr())
	}
	half, ok := conn.(halfCloser)
	if !ok {
		return c
	}
	h := &tracedHalf{c, half}
	switch below := conn.(type) {
	case *net.TCPConn:
		return &tracedTCP{h, below}
	case overTLS:
		return &tracedTLS{h, below}
	}
	return h
}

// traced is a connection that is traced.
type traced struct {
	net.Conn
	s     *stream
	here  int  // which end of it this is
	reset bool // Close is to reset; guarded like s
}

// Write notes p before it is sent: the peer's answer must not come first. Where less is sent, what
// is sent next takes the place of the rest, like a repetition.
func (c *traced) Write(p []byte) (int, error) {
	c.note(func() { c.s.data(c.here, p) })
	n, err := c.Conn.Write(p)
	if n < len(p) {
		c.note(func() { c.s.unsent(c.here, len(p)-n) })
	}
	return n, err
}

// Read notes what has come, or that nothing more will.
func (c *traced) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.note(func() {
		c.s.data(1-c.here, p[:n])
		c.s.failed(1-c.here, err)
	})
	return n, err
}

// Close notes that nothing more is sent.
func (c *traced) Close() error {
	c.note(func() {
		flag := byte(flagFIN)
		if c.reset {
			flag = flagRST
		}
		c.s.finish(c.here, flag)
	})
	return c.Conn.Close()
}

// note calls f with what guards the stream, and has written what it adds.
func (c *traced) note(f func()) {
	w := c.s.w
	if w.over.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.flush()
}

// tracedHalf is a connection that can be closed by half.
type tracedHalf struct {
	*traced
	half halfCloser
}

// CloseWrite notes that nothing more is sent.
func (c *tracedHalf) CloseWrite() error {
	c.note(func() { c.s.finish(c.here, flagFIN) })
	return c.half.CloseWrite()
}

// tracedTLS is a connection of TLS, or what is like it.
type tracedTLS struct {
	*tracedHalf
	tls overTLS
}

// NetConn is the connection below TLS.
func (c *tracedTLS) NetConn() net.Conn { return c.tls.NetConn() }

// tracedTCP is a connection of TCP. Package mpa reads and writes it by system calls, and tells what
// passes by Sending and Received.
type tracedTCP struct {
	*tracedHalf
	tcp *net.TCPConn
}

// TCPConn is the connection itself.
func (c *tracedTCP) TCPConn() *net.TCPConn { return c.tcp }

// SetLinger notes whether Close is to reset the connection.
func (c *tracedTCP) SetLinger(seconds int) error {
	c.note(func() { c.reset = seconds == 0 })
	return c.tcp.SetLinger(seconds)
}

// Sending calls write, which must not block, and notes the bytes of pieces that it has sent: their
// number is what write returns. What the peer answers is noted later.
func (c *tracedTCP) Sending(pieces [][]byte, write func() (int, error)) (n int, err error) {
	w := c.s.w
	if w.over.Load() {
		return write()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, err = write(); n > 0 {
		c.s.pieces(c.here, pieces, n)
		w.flush()
	}
	return n, err
}

// Received notes the first n bytes of pieces as received: none, without an error, is the end.
func (c *tracedTCP) Received(pieces [][]byte, n int, err error) {
	c.note(func() {
		c.s.pieces(1-c.here, pieces, n)
		if n == 0 && err == nil {
			c.s.finish(1-c.here, flagFIN)
		}
		c.s.failed(1-c.here, err)
	})
}
