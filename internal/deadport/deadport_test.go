package deadport_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
)

// TestNew: a dead port refuses connections, and no program can listen on it.
func TestNew(t *testing.T) {
	addr := deadport.New(t, "127.0.0.1").String()
	if c, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial: got %v, %v, want %v", c, err, syscall.ECONNREFUSED)
	}
	if l, err := net.Listen("tcp", addr); err == nil {
		l.Close()
		t.Error("Listen has succeeded")
	}
}
