package raw

import (
	"io"
	"net"
)

const (
	// readSize is how much one read of bulk data takes. 64 KiB is slower, and 1 MiB is not faster.
	readSize = 256 << 10
	// fileSize is how much of a file is read or written at a time.
	fileSize = 1 << 20
)

// Send sends the same size bytes n times, and waits until the server has read all of them.
func (c *Client) Send(size, n int) error {
	if err := c.announce(head{what: stream, n: uint64(n) * uint64(size)}); err != nil {
		return err
	}
	for range n {
		if _, err := c.conn.Write(c.data[:size]); err != nil {
			return err
		}
	}
	return c.confirmed()
}

// SendFile sends n bytes from r as a stream, and waits until the server has written them. They go
// through user space, without the kernel's shortcuts, as in a program that looks at its data.
func (c *Client) SendFile(r io.Reader, n int64) error {
	if err := c.announce(head{what: stream, n: uint64(n)}); err != nil {
		return err
	}
	to, from := struct{ io.Writer }{c.conn}, io.LimitReader(r, n)
	sent, err := io.CopyBuffer(to, from, make([]byte, fileSize))
	if err == nil && sent < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return c.confirmed()
}

// confirmed waits for the server's answer to a stream.
func (c *Client) confirmed() error {
	_, err := io.ReadFull(c.conn, c.head[:1])
	return err
}

// Receive accepts one connection of l, and writes to w what SendFile sends.
func Receive(l net.Listener, w io.Writer) error {
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	s := &server{conn: c}
	b := s.room(headSize)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	h := parseHead(b)
	if h.what != stream {
		return errHead
	}
	return s.sink(h.n, w, fileSize)
}

// sink reads n bytes, at most size with each read, writes them to w, and answers with one byte.
func (s *server) sink(n uint64, w io.Writer, size int) error {
	buf := s.room(size)
	for n > 0 {
		k, err := s.conn.Read(buf[:min(n, uint64(len(buf)))])
		if err != nil {
			return err
		}
		if _, err := w.Write(buf[:k]); err != nil {
			return err
		}
		n -= uint64(k)
	}
	_, err := s.conn.Write(buf[:1])
	return err
}
