package main

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// manager stands for systemd: a socket that receives the status of a service.
type manager struct{ *net.UnixConn }

// newManager makes the socket for processes that start from now on. A name that begins with @ is
// abstract.
func newManager(t *testing.T, name string) manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", name)
	return manager{conn}
}

// learns fails the test unless this is the next status.
func (m manager) learns(t *testing.T, want string) {
	t.Helper()
	if err := m.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var b [4096]byte
	n, err := m.Read(b[:])
	if err != nil || string(b[:n]) != want {
		t.Fatalf("told %q, %v; want %q", b[:n], err, want)
	}
}

// TestNotifyServe: systemd learns when serve is ready, reads its exports again, and ends.
func TestNotifyServe(t *testing.T) {
	heedSignals(t)
	for _, name := range []string{
		filepath.Join(t.TempDir(), "notify"),
		"@go-rpcrdma/" + filepath.Base(t.TempDir()),
	} {
		m := newManager(t, name)
		f := &exportsFile{path: filepath.Join(t.TempDir(), "exports")}
		f.write(t, "/m *(memory,insecure)\n")
		s, cmd := startProcess(t, "1s", "--exports", f.path)
		f.serveCommand = s
		m.learns(t, "READY=1")
		for i, text := range []string{"/m *(memory,insecure)\n/n *(memory)\n", "nonsense\n"} {
			f.write(t, text)
			send(t, cmd, syscall.SIGHUP)
			m.learns(t, "RELOADING=1")
			m.learns(t, "READY=1") // with what held before, if the file is wrong
			said := []string{reloaded, "the exports have not changed: the file cannot be used"}[i]
			if got := s.stderr.await(said, s.over); !strings.Contains(got, said) {
				t.Errorf("%q was not logged: %s", said, got)
			}
		}
		send(t, cmd, syscall.SIGTERM)
		m.learns(t, "STOPPING=1")
		<-s.over
		if !cmd.ProcessState.Success() {
			t.Errorf("%v: %v", cmd.ProcessState, s.stderr)
		}
	}
}

// TestNotifyGateway: systemd learns when a gateway is ready and ends, whether its server is there
// or not.
func TestNotifyGateway(t *testing.T) {
	m := newManager(t, filepath.Join(t.TempDir(), "notify"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan int, 1)
	stderr := newTranscript()
	go func() {
		over <- run(ctx, []string{"gateway", "--to", "rdma://127.0.0.1:1", "--listen", "127.0.0.1:0"},
			newTranscript(), stderr)
	}()
	m.learns(t, "READY=1")
	cancel()
	m.learns(t, "STOPPING=1")
	if code := <-over; code != 0 {
		t.Errorf("exit %d: %v", code, stderr)
	}
}

// TestNotifyNobody: serve works without the socket.
func TestNotifyNobody(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "missing"))
	s := startServe(t, "--memory", "/m")
	s.stderr.await("cannot tell systemd the status", s.over)
	m := mountAs(t, dialRDMA(t, s.rdma), 0, "/m")
	m.put(t, "file", []byte("data"))
	s.stop()
	if s.code != 0 {
		t.Errorf("exit %d: %v", s.code, s.stderr)
	}
}
