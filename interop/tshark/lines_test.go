//go:build interop

package tshark

import (
	"strings"
	"sync"
	"time"
)

// lines keeps the lines that a program prints.
type lines struct {
	more chan struct{} // capacity 1: something has been added

	mu  sync.Mutex // guards out
	out strings.Builder
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1)} }

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.out.Write(p)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// await waits until s has been printed.
func (l *lines) await(s string) bool {
	timeout := time.After(limit)
	for !strings.Contains(l.String(), s) {
		select {
		case <-l.more:
		case <-timeout:
			return false
		}
	}
	return true
}
