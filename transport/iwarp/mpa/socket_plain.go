package mpa

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
)

const (
	// plainMost is the most that one Write gets, if the slowest permitted peer can take that within
	// ConnOptions.Stall. Otherwise it gets less.
	plainMost = 64 << 10

	// plainFew is the size of the buffer with which a connection waits for bytes. A whole buffer
	// would be too much for an idle connection.
	plainFew = 4 << 10
)

// openPlain makes c write and read by Write and Read, which block. So a batch holds copies only,
// and nothing is read into place: only memory of the connection itself is touched.
func (c *Conn) openPlain() {
	c.out.plain = true
	c.out.sys = &plainOutput{w: &c.out}
	c.in.sys = &plainInput{
		r: &c.in, few: make([]byte, plainFew), woken: make(chan struct{}, 1),
	}
}

// plainOutput writes by the methods that every net.Conn has. Since Write blocks, only wait writes.
type plainOutput struct{ w *writer }

func (s *plainOutput) try() error { return nil }

func (s *plainOutput) wait(l sync.Locker) error {
	var p []byte
	l.Lock()
	if b := s.w.batch; b != nil {
		p = b.pieces[b.first]
		p = p[:min(len(p), plainMost, s.w.pace.Enough)]
	}
	l.Unlock()
	if p == nil {
		return nil
	}
	if s.w.c.isInterrupted() {
		return os.ErrDeadlineExceeded
	}
	n, err := s.w.c.conn.Write(p) // nobody else changes p
	s.w.torn = err != nil
	l.Lock()
	s.w.sent(n)
	l.Unlock()
	return err
}

func (s *plainOutput) unsent() int { return 0 }

func (s *plainOutput) mss() int {
	const ethernet, large = 1448, 64 << 10
	if tcp, _ := tcpOf(s.w.c.conn); tcp != nil && !isLoopback(tcp.RemoteAddr()) {
		return ethernet
	}
	return large // not TCP: it splits the stream as it likes
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// plainInput reads by the methods that every net.Conn has.
type plainInput struct {
	r     *reader
	few   []byte
	many  bool          // reads fill few
	woken chan struct{} // capacity 1: hold need not wait
}

func (s *plainInput) read() (int, error) {
	if s.r.buf != nil {
		s.r.idle() // Read may wait
	}
	p := s.few
	if s.many && s.r.buf != nil {
		p = s.r.space()
	}
	n, err := io.ReadAtLeast(s.r.c.conn, p, 1)
	s.many = n >= plainFew
	if n > 0 {
		copy(s.r.room(n), p[:n]) // p may be that memory
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// hold reads ahead, as there is no other way to learn that the peer has gone. It learns this if the
// peer has sent no more than plainFew bytes since the held segment was read. Otherwise the end is
// noticed when its turn comes.
func (s *plainInput) hold() error {
	for r := s.r; r.ahead < plainFew; {
		n, err := r.c.conn.Read(s.few[:plainFew-r.ahead])
		r.c.received.Add(uint64(n))
		r.ahead += n
		r.buf = append(r.buf[:r.n], s.few[:n]...) // not a whole buffer, so it may grow
		r.n += n
		if err != nil {
			return err
		}
	}
	<-s.woken
	return nil
}

func (s *plainInput) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

func (s *plainInput) widen() {}
