//go:build !linux || mpaportable

package mpa

// The build tag mpaportable has Linux do as other systems do, so that it can be tested there:
//
//	go test -tags mpaportable ./transport/iwarp/...

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
)

const (
	// copyAll: a batch holds copies only, so that a write that blocks touches no memory but its own.
	copyAll   = true
	copyBelow = 0

	readsDirect = false // a read that blocks can borrow no memory
)

// vector is not needed here.
type vector struct{}

// writerSys writes with the means that every system has: it blocks, so that only wait writes.
type writerSys struct{ w *writer }

func (s *writerSys) init(w *writer) { s.w = w }

// unsent is unknown here.
func (s *writerSys) unsent() int { return 0 }

func (s *writerSys) try() error { return nil }

func (s *writerSys) wait(l sync.Locker) error {
	var p []byte
	l.Lock()
	if b := s.w.batch; b != nil {
		p = b.pieces[b.first]
	}
	l.Unlock()
	if p == nil {
		return nil
	}
	n, err := s.w.c.tcp.Write(p) // nobody else changes what is there
	l.Lock()
	s.w.sent(n)
	l.Unlock()
	return err
}

// readerSys reads with the means that every system has: it keeps a buffer while it waits.
type readerSys struct{ r *reader }

func (s *readerSys) init(r *reader) { s.r = r }

func (s *readerSys) read() (int, error) {
	n, err := s.r.c.tcp.Read(s.r.space())
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// mss guesses the maximum segment size.
func mss(tcp *net.TCPConn, _ syscall.RawConn) int {
	const ethernet, loopback = 1448, 64 << 10
	if a, ok := tcp.RemoteAddr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		return loopback
	}
	return ethernet
}

// widen leaves the window to the system.
func widen(syscall.RawConn) {}
