//go:build !mpaportable

package mpa

import (
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const iovMax = 1024 // IOV_MAX

// open chooses how to write and read.
func (c *Conn) open() error {
	tcp, tap := tcpOf(c.conn)
	if tcp == nil {
		c.openPlain()
		return nil
	}
	c.tap, c.out.taps, c.in.taps = tap, tap != nil, tap != nil
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	c.rawOut.open(raw, &c.out)
	c.rawIn.open(raw, &c.in)
	c.out.sys, c.in.sys = &c.rawOut, &c.rawIn
	c.rawOut.holdLittle()
	c.in.places = true
	return nil
}

// rawOutput writes without blocking.
type rawOutput struct {
	tryWait func(fd uintptr) bool // made once, like tryOnce: a method value allocates
	lock    sync.Locker           // of the pending wait

	// Each message needs the following; see Conn.
	err     error
	raw     syscall.RawConn
	w       *writer
	tryOnce func(fd uintptr) bool
}

func (s *rawOutput) open(raw syscall.RawConn, w *writer) {
	s.raw, s.w = raw, w
	s.tryOnce = func(fd uintptr) bool { s.write(fd); return true }
	s.tryWait = func(fd uintptr) bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return s.write(fd) || s.err != nil
	}
}

func (s *rawOutput) try() error {
	s.err = nil
	if err := s.raw.Write(s.tryOnce); err != nil {
		return err
	}
	return s.err
}

func (s *rawOutput) wait(l sync.Locker) error {
	s.err, s.lock = nil, l
	if err := s.raw.Write(s.tryWait); err != nil {
		return err
	}
	return s.err
}

func (s *rawOutput) unsent() (n int) {
	_ = s.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n
}

// unsentMost is about how many bytes the socket may hold that TCP has not sent yet. Whatever is
// posted later waits behind them. By default the system holds megabytes.
const unsentMost = 256 << 10

func (s *rawOutput) holdLittle() {
	_ = s.raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentMost)
	})
}

func (s *rawOutput) mss() (n int) {
	_ = s.raw.Control(func(fd uintptr) {
		n, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	})
	return n
}

// write makes one attempt, and reports whether the socket took anything. If a batch has very many
// pieces, it makes several.
func (s *rawOutput) write(fd uintptr) (some bool) {
	for b := s.w.batch; b != nil; b = s.w.batch {
		pieces := b.pieces[b.first:]
		pieces = pieces[:min(len(pieces), iovMax)]
		want := 0
		for _, p := range pieces {
			want += len(p)
		}
		raceSend(pieces, b.owners[b.first:])
		var n int
		var err error
		switch {
		case s.w.taps:
			n, err = s.writeTapped(int(fd), b, pieces)
		case len(pieces) == 1:
			n, err = writeOnce(int(fd), pieces[0])
		default:
			n, err = b.vector.write(int(fd), pieces)
		}
		switch err {
		case nil:
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return some
		default:
			s.err = err
			return some
		}
		some = true
		s.w.sent(n)
		if n < want {
			return true // another attempt would fail
		}
	}
	return some
}

// writeTapped writes on a connection with a tap.
func (s *rawOutput) writeTapped(fd int, b *batch, pieces [][]byte) (int, error) {
	return s.w.c.tap.Sending(pieces, func() (int, error) { return b.vector.write(fd, pieces) })
}

// rawInput reads without blocking.
type rawInput struct {
	raw  syscall.RawConn
	r    *reader
	n    int
	err  error
	try  func(fd uintptr) bool // made once
	spin spin
}

func (s *rawInput) open(raw syscall.RawConn, r *reader) {
	s.raw, s.r = raw, r
	s.try = func(fd uintptr) bool {
		for {
			s.n, s.err = s.attempt(int(fd))
			switch s.err {
			case unix.EINTR:
				continue
			case unix.EAGAIN:
				if s.spin.on || r.sink.ExpectsMore() && s.spin.begin() {
					return true
				}
				r.idle()
				return false
			}
			return true
		}
	}
}

// attempt reads what there is, straight into place if the place is known.
func (s *rawInput) attempt(fd int) (int, error) {
	r := s.r
	if r.aside || r.n > 0 && r.beginDirect() {
		to, lent := r.place()
		n, err := r.direct.vector.read(fd, to)
		if r.taps {
			r.c.tap.Received(to, n, err)
		}
		if lent {
			r.sink.Return()
		}
		return n, err
	}
	p := r.space()
	n, err := readOnce(fd, p)
	if r.taps {
		r.c.tap.Received([][]byte{p}, n, err)
	}
	r.many = n == len(p) && n >= readFew
	return n, err
}

func (s *rawInput) read() (int, error) {
	err := s.raw.Read(s.try)
	for s.spin.on { // more than once if it slept, was woken for nothing, and may spin again
		err = s.readSoon()
	}
	if err != nil {
		return 0, err
	}
	raceReceive()
	return max(s.n, 0), s.err
}

// readSoon spins, and then waits normally if nothing came.
func (s *rawInput) readSoon() error {
	for start := time.Now(); ; {
		runtime.Gosched() // there may be other work
		err := s.raw.Read(s.try)
		switch {
		case err != nil || s.err != unix.EAGAIN:
			s.spin.end(true)
			return err
		case time.Since(start) >= spinTime:
			s.spin.end(false)
			return s.raw.Read(s.try)
		}
	}
}

// hold waits until the peer has gone. It learns this even if earlier bytes of the peer are unread.
func (s *rawInput) hold() error {
	var gone error
	err := s.raw.Read(func(fd uintptr) bool {
		gone = hungUp(int(fd))
		return gone != nil
	})
	if err != nil {
		return err
	}
	return gone
}

func (s *rawInput) wake() {}

// hungUp returns io.EOF if the peer has closed the connection, or the error by which it ended.
func hungUp(fd int) error {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	for {
		switch _, err := unix.Poll(p, 0); {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case p[0].Revents&unix.POLLERR != 0:
			if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && n != 0 {
				return syscall.Errno(n)
			}
			return io.EOF
		case p[0].Revents != 0:
			return io.EOF
		}
		return nil
	}
}

// window is how many unread bytes the peer may have sent.
const window = 2 << 20

// widen makes the system buffer so much, if it does not already plan for more. Linux finds the
// needed window by itself, but gets it wrong if a round trip takes a few microseconds and this end
// reads as fast as the peer sends: the sender then waits for the window again and again. SO_RCVBUF
// would also work, but it has a low limit and cannot be undone. SO_RCVLOWAT makes Linux provide
// room for the mark, and the room stays when the mark goes back to 1.
func (s *rawInput) widen() {
	_ = s.raw.Control(func(fd uintptr) {
		for _, mark := range []int{window, 1} {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, mark)
		}
	})
}
