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

// open finds out how to write and read.
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
	tryWait func(fd uintptr) bool // made once, as tryOnce is, since a method value allocates
	lock    sync.Locker           // of the wait under way

	// What follows is needed for each message: see Conn.
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

// unsentMost is how many bytes the socket holds that TCP has not sent yet, or little more: what is
// posted later waits behind them. By itself the system holds megabytes.
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

// write makes one attempt, and reports whether the socket took anything. A batch of very many
// pieces takes several.
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

// writeTapped is one attempt of write on a connection with a tap.
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

// attempt reads what there is, to where it belongs if that can be told.
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
	for s.spin.on { // and again if it waited, was woken for nothing, and may spin again
		err = s.readSoon()
	}
	if err != nil {
		return 0, err
	}
	raceReceive()
	return max(s.n, 0), s.err
}

// readSoon spins, and waits like others if that is of no use.
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

// hold waits for the news that the peer has gone, which need not wait until what it has sent
// before is read.
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

// hungUp says whether the peer has closed the connection, io.EOF, or reset it, as Linux has it.
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

// window is what the peer may have sent and nobody read yet, in bytes.
const window = 2 << 20

// widen has the system take so much, if it is not to take more already. By itself it finds out what
// a connection needs, and that goes wrong where the round trip takes a few microseconds and this
// end reads as fast as the peer sends: the sender then waits for the window again and again.
// SO_RCVBUF would do it, too, but has a low limit, and is for good. A mark below which nobody is to
// be woken needs room for as much, and the room stays.
func (s *rawInput) widen() {
	_ = s.raw.Control(func(fd uintptr) {
		for _, mark := range []int{window, 1} {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, mark)
		}
	})
}
