package main

import (
	"net"
	"strings"
	"syscall"
	"testing"
)

// TestDaemon shows that a signal stops a daemon that accepts connections. If a daemon ends by
// itself, the error has its output.
func TestDaemon(t *testing.T) {
	l, err := net.Listen("tcp", localhost)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := startDaemon(l.Addr().String(), "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	<-d.ended
	if s := d.Cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGTERM {
		t.Errorf("it has ended by %v, want %v", d.Cmd.ProcessState, syscall.SIGTERM)
	}

	if d, err = startDaemon(l.Addr().String(), "sh", "-c", "echo last words >&2; exit 3"); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	if err := d.stop(); err == nil || !strings.Contains(err.Error(), "last words") {
		t.Errorf("of one that had ended: got error %v", err)
	}
	addr := l.Addr().String()
	l.Close()
	if _, err := startDaemon(addr, "sh", "-c", "echo last words >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "sh has ended") {
		t.Errorf("of one that ends: got error %v", err)
	}
	if _, err := startDaemon(addr, "no such daemon"); err == nil {
		t.Errorf("got error %v, want %v", err, "that it is not there")
	}
}
