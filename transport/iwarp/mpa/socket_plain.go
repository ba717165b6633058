package mpa

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
)

const (
	// plainMost is the most that one Write gets, if a peer that takes the least that it may is
	// through with that within ConnOptions.Stall.
	plainMost = 64 << 10

	// plainFew is what a connection waits with for bytes, rather than with a whole buffer.
	plainFew = 4 << 10
)

// openPlain has c write and read by Write and Read, which block. So a batch holds copies only, and
// nothing is read to its place: no memory is touched but the connection's own.
func (c *Conn) openPlain() {
	c.out.plain = true
	c.out.sys = &plainOutput{w: &c.out}
	c.in.sys = &plainInput{
		r: &c.in, few: make([]byte, plainFew), woken: make(chan struct{}, 1),
	}
}

// plainOutput writes with the means that every net.Conn has. Since Write blocks, only wait writes.
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
	n, err := s.w.c.conn.Write(p) // nobody else changes what is there
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
	return large // what is not TCP divides what it carries as it likes
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// plainInput reads with the means that every net.Conn has.
type plainInput struct {
	r     *reader
	few   []byte
	many  bool          // more comes than few at a time
	woken chan struct{} // capacity 1: hold need not wait
}

func (s *plainInput) read() (int, error) {
	if s.r.buf != nil {
		s.r.idle() // for all that is known
	}
	p := s.few
	if s.many && s.r.buf != nil {
		p = s.r.space()
	}
	n, err := io.ReadAtLeast(s.r.c.conn, p, 1)
	s.many = n >= plainFew
	if n > 0 {
		copy(s.r.room(n), p[:n]) // where it may be already
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// hold reads ahead, since there is no other way to learn that the peer has gone. That shows if it
// has sent no more than plainFew bytes since the segment that is held was read; else when its turn
// comes.
func (s *plainInput) hold() error {
	for r := s.r; r.ahead < plainFew; {
		n, err := r.c.conn.Read(s.few[:plainFew-r.ahead])
		r.c.received.Add(uint64(n))
		r.ahead += n
		r.buf = append(r.buf[:r.n], s.few[:n]...) // which is no whole buffer
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
