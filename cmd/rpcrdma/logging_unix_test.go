//go:build unix

package main

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// TestLogFormat: with --log-format json each line of the log is an object. The log has the first
// and the last connection of a client.
func TestLogFormat(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--log-format", "json")
	for range 2 {
		mountAs(t, dialRDMA(t, s.rdma), 5, "/export")
	}
	mountAs(t, dialTCP(t, s.tcp), 5, "/export")
	if code := s.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
	var said []string
	for line := range strings.Lines(s.stderr.String()) {
		var entry struct {
			Level, Msg, Peer, Over string
			Connections            int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch said = append(said, entry.Level+" "+entry.Msg); entry.Msg {
		case "a client has come":
			if entry.Over != "iwarp" || !strings.HasPrefix(entry.Peer, "127.0.0.1:") {
				t.Errorf("came: %q", line)
			}
		case "a client has gone":
			if entry.Connections != 3 {
				t.Errorf("gone: %q", line)
			}
		}
	}
	want := "INFO a client has come, INFO nfs: mounted, INFO draining, INFO a client has gone, INFO drained"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("the log says %s\nwant %s", got, want)
	}
}

// TestLogTransports: Linux asks MOUNT over TCP, ends that connection, and then connects over RDMA.
// The log says so at once.
func TestLogTransports(t *testing.T) {
	s := startServe(t, "--memory", "/export")
	conn := dialTCP(t, s.tcp)
	mountAs(t, conn, 5, "/export")
	conn.Close()
	<-conn.Done()
	awaitLog(t, s, `msg="a client has gone"`)
	mountAs(t, dialRDMA(t, s.rdma), 5, "/export")
	log := s.stderr.String()
	for _, over := range []string{"tcp", "iwarp"} {
		if want := "over=" + over + "\n"; !strings.Contains(log, want) {
			t.Errorf("no %q in the log:\n%s", want, log)
		}
	}
}

// awaitLog waits until the log has some text.
func awaitLog(t *testing.T, s *serveCommand, text string) {
	t.Helper()
	for end := time.Now().Add(hang.Patience); !strings.Contains(s.stderr.String(), text); {
		if time.Now().After(end) {
			t.Fatalf("no %q in the log:\n%s", text, s.stderr)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLogLevelSignal: SIGUSR1 switches the log to debug, and the next one back.
func TestLogLevelSignal(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--log-level", "error")
	const debug = `level=DEBUG msg="nfs: mounted"`
	again := func(want bool) {
		t.Helper()
		mountAs(t, dialRDMA(t, s.rdma), 5, "/export")
		if got := strings.Contains(s.stderr.String(), debug); got != want {
			t.Errorf("messages of level DEBUG are logged: %t, want %t; log:\n%s", got, want, s.stderr)
		}
	}
	usr1 := func(now string) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		s.stderr.await("now="+now, s.over)
	}
	again(false)
	usr1("DEBUG")
	again(true)
	usr1("ERROR")
	before := strings.Count(s.stderr.String(), "\n")
	again(true)
	if n := strings.Count(s.stderr.String(), "\n"); n != before {
		t.Errorf("%d lines at level ERROR:\n%s", n-before, s.stderr)
	}
}
