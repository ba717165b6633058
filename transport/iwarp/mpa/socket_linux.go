//go:build !mpaportable

package mpa

import (
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// copyAll: payload is sent from where it is, unless it is so short that copying costs less than a piece of its own.
	copyAll   = false
	copyBelow = 1 << 10

	iovMax = 1024 // IOV_MAX

	readsDirect = true
)

// writerSys writes without blocking.
type writerSys struct {
	w    *writer
	lock sync.Locker // of the wait under way
	err  error

	// Made once, since a method value allocates.
	tryOnce, tryWait func(fd uintptr) bool
}

func (s *writerSys) init(w *writer) {
	s.w = w
	s.tryOnce = func(fd uintptr) bool { s.write(fd); return true }
	s.tryWait = func(fd uintptr) bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return s.write(fd) || s.err != nil
	}
}

// try writes what the socket takes.
func (s *writerSys) try() error {
	s.err = nil
	if err := s.w.c.raw.Write(s.tryOnce); err != nil {
		return err
	}
	return s.err
}

// wait writes as soon as the socket takes something.
func (s *writerSys) wait(l sync.Locker) error {
	s.err, s.lock = nil, l
	if err := s.w.c.raw.Write(s.tryWait); err != nil {
		return err
	}
	return s.err
}

// unsent is what the socket holds and the peer has not acknowledged. A slow peer makes it smaller long before the socket takes more.
func (s *writerSys) unsent() (n int) {
	_ = s.w.c.raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n
}

// write makes one attempt, and reports whether the socket took anything. A batch of very many pieces takes several.
func (s *writerSys) write(fd uintptr) (some bool) {
	for b := s.w.batch; b != nil; b = s.w.batch {
		pieces := b.pieces[b.first:]
		pieces = pieces[:min(len(pieces), iovMax)]
		want := 0
		for _, p := range pieces {
			want += len(p)
		}
		raceSend(pieces, b.owners[b.first:])
		n, err := b.vector.write(int(fd), pieces)
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

// readerSys reads without blocking.
type readerSys struct {
	r      *reader
	n      int
	err    error
	vector vector
	spin   spin

	try func(fd uintptr) bool // made once
}

func (s *readerSys) init(r *reader) {
	s.r = r
	s.try = func(fd uintptr) bool {
		for {
			s.n, s.err = s.attempt(int(fd))
			switch s.err {
			case unix.EINTR:
				continue
			case unix.EAGAIN:
				if s.spin.on || r.expecter != nil && r.expecter.Expects() && s.spin.begin() {
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
func (s *readerSys) attempt(fd int) (int, error) {
	r := s.r
	if r.direct.active || r.beginDirect() {
		to, lent := r.place()
		n, err := s.vector.read(fd, to)
		if lent {
			r.direct.placer.Return()
		}
		return n, err
	}
	p := r.space()
	n, err := s.vector.read(fd, append(r.direct.to[:0], p))
	r.many = n == len(p)
	return n, err
}

// read waits for bytes and reads once. No bytes are the end.
func (s *readerSys) read() (int, error) {
	err := s.r.c.raw.Read(s.try)
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
func (s *readerSys) readSoon() error {
	for start := time.Now(); ; {
		runtime.Gosched() // there may be other work
		err := s.r.c.raw.Read(s.try)
		switch {
		case err != nil || s.err != unix.EAGAIN:
			s.spin.end(true)
			return err
		case time.Since(start) >= spinTime:
			s.spin.end(false)
			return s.r.c.raw.Read(s.try)
		}
	}
}

// mss asks the system for the maximum segment size.
func mss(_ *net.TCPConn, raw syscall.RawConn) int {
	n := 0
	_ = raw.Control(func(fd uintptr) {
		n, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	})
	return n
}

// window is what the peer may have sent and nobody read yet, in bytes.
const window = 2 << 20

// widen has the system take so much, if it is not to take more already. By itself it finds out what a connection needs, and that goes wrong where the round trip
// takes a few microseconds and this end reads as fast as the peer sends: the sender then waits for the window again and again. SO_RCVBUF would
// do it, too, but has a low limit, and is for good. A mark below which nobody is to be woken needs room for as much, and the room stays.
func widen(raw syscall.RawConn) {
	_ = raw.Control(func(fd uintptr) {
		for _, mark := range []int{window, 1} {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, mark)
		}
	})
}
