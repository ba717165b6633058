package faultnet

import (
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Pipe returns the two ends of a connection in memory, and the Link between them. Unlike net.Pipe,
// it has buffers, and each end has a method CloseWrite. It needs no goroutines. In a bubble of
// testing/synctest it works in virtual time.
func Pipe(cfg Config) (dialing, listening net.Conn, link *Link) {
	link = newLink(0, &cfg, cfg.counters())
	link.announce(&cfg)
	a, b := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	dialing, listening = link.conns(a, b)
	return dialing, listening, link
}

// conn is one end of a Link.
type conn struct {
	link          *Link
	end           End
	local, remote netip.AddrPort
}

func (l *Link) conns(dialing, listening netip.AddrPort) (*conn, *conn) {
	return &conn{l, DialingEnd, dialing, listening}, &conn{l, ListeningEnd, listening, dialing}
}

// opError wraps an error as package net does.
func (c *conn) opError(op string, err error) error {
	return &net.OpError{
		Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err,
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.link.read(c.end, p)
	if err != nil && err != io.EOF {
		err = c.opError("read", err)
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.link.write(c.end, p)
	if err != nil {
		err = c.opError("write", err)
	}
	return n, err
}

// CloseWrite ends what this end sends. It can still receive.
func (c *conn) CloseWrite() error {
	if !c.link.finish(c.end, FIN, nil) {
		return c.opError("close", net.ErrClosed)
	}
	return nil
}

// Close implements net.Conn. Bytes written before still arrive.
func (c *conn) Close() error {
	if !c.link.finish(c.end, closing, net.ErrClosed) {
		return c.opError("close", net.ErrClosed)
	}
	return nil
}

// reset closes this end by a reset.
func (c *conn) reset() { c.link.finish(c.end, RST, syscall.ECONNRESET) }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.local) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.link.setDeadlines(c.end, &t, &t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.link.setDeadlines(c.end, &t, nil)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.link.setDeadlines(c.end, nil, &t)
	return nil
}

func (l *Link) setDeadlines(e End, read, write *time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if read != nil {
		l.ends[e].readDeadline = *read
	}
	if write != nil {
		l.ends[e].writeDeadline = *write
	}
	l.change()
}
