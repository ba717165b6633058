package trace

import (
	"context"
	"net"
)

// Listener returns a listener like l that traces each connection it accepts.
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

// DialContext returns a function like dial that traces each connection it makes, like Dialed.
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

// DialFunc is the type of the DialContext method of net.Dialer and tls.Dialer.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialed traces a connection that this end has dialled. Use the returned connection instead of
// conn, from the first byte on. It has the methods CloseWrite, SetLinger and NetConn if conn has
// them. Package iwarp treats a traced *net.TCPConn as a TCP connection as before.
//
// Dialed is not for connections of package sctp, which are no byte streams. See Datagram.
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

// wrap traces conn, whose local end is here.
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
	here  int  // the local end: client or server
	reset bool // Close will reset the connection; guarded like s
}

// Write records p before it sends it, so that the peer's answer is recorded later. If less than p
// is sent, the next Write gets the sequence numbers of the rest, like a retransmission.
func (c *traced) Write(p []byte) (int, error) {
	c.note(func() { c.s.data(c.here, p) })
	n, err := c.Conn.Write(p)
	if n < len(p) {
		c.note(func() { c.s.unsent(c.here, len(p)-n) })
	}
	return n, err
}

// Read records what has come, or the end of the stream.
func (c *traced) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.note(func() {
		c.s.data(1-c.here, p[:n])
		c.s.failed(1-c.here, err)
	})
	return n, err
}

// Close records a FIN or RST.
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

// note calls f with w.mu held, and writes the packets that f adds.
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

// tracedHalf is a connection with CloseWrite.
type tracedHalf struct {
	*traced
	half halfCloser
}

// CloseWrite records a FIN.
func (c *tracedHalf) CloseWrite() error {
	c.note(func() { c.s.finish(c.here, flagFIN) })
	return c.half.CloseWrite()
}

// tracedTLS is a TLS connection, or another with NetConn.
type tracedTLS struct {
	*tracedHalf
	tls overTLS
}

// NetConn returns the connection below TLS.
func (c *tracedTLS) NetConn() net.Conn { return c.tls.NetConn() }

// tracedTCP is a TCP connection. Package mpa reads and writes it by system calls, and reports what
// passes by Sending and Received.
type tracedTCP struct {
	*tracedHalf
	tcp *net.TCPConn
}

// TCPConn returns the connection itself.
func (c *tracedTCP) TCPConn() *net.TCPConn { return c.tcp }

// SetLinger notes whether Close will reset the connection.
func (c *tracedTCP) SetLinger(seconds int) error {
	c.note(func() { c.reset = seconds == 0 })
	return c.tcp.SetLinger(seconds)
}

// Sending calls write, which must not block and returns how many bytes of pieces it has sent. These
// are recorded before any answer of the peer.
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

// Received records the first n bytes of pieces as received. n = 0 without an error is the end of
// the stream.
func (c *tracedTCP) Received(pieces [][]byte, n int, err error) {
	c.note(func() {
		c.s.pieces(1-c.here, pieces, n)
		if n == 0 && err == nil {
			c.s.finish(1-c.here, flagFIN)
		}
		c.s.failed(1-c.here, err)
	})
}
