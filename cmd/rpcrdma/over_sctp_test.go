package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// rdmaAt is the Target of a server at an address over iWARP.
func rdmaAt(t *testing.T, addr string) reach.Target {
	t.Helper()
	at, err := reach.ParseTarget("rdma://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// sctpLine is the line of the greeting about SCTP.
var sctpLine = regexp.MustCompile(`(?m)^NFS over RDMA \(sctp\) on (.*), in UDP port (\d+)$`)

// sctpURL is the URL of a server over SCTP, without a path.
func (s *serveCommand) sctpURL(t *testing.T) (base, options string) {
	t.Helper()
	m := sctpLine.FindStringSubmatch(s.greeting)
	if m == nil {
		t.Fatalf("no SCTP in %q", s.greeting)
	}
	return "rdma+sctp://" + m[1], "?udp=" + m[2]
}

// TestServeSCTP: clients reach a server over SCTP, with several connections on one association.
func TestServeSCTP(t *testing.T) {
	s := startServe(t, "--provider", "iwarp,sctp", "--sctp-udp", "0", "--memory", "/export", "--squash", "none")
	base, options := s.sctpURL(t)
	file := base + "/export/file" + options
	dir, data := t.TempDir(), rig.Pattern(1<<20+1)
	up := rig.Write(t, filepath.Join(dir, "up"), data)
	down := filepath.Join(dir, "down")
	for _, args := range [][]string{
		{"put", "-q", up, file},
		{"get", "-q", "--connections", "3", file, down},
		{"ls", base + "/export" + options},
		{"ping", "--count", "3", "--interval", "0", base + options},
	} {
		if code, out, errs := execute(t, args...); code != cli.ExitOK {
			t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
		}
	}
	rig.Holds(t, down, data)
	if code := s.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
}

// TestServeSCTPAllow: a client that is not allowed gets no association. It is counted and logged.
func TestServeSCTPAllow(t *testing.T) {
	s := startServe(t, "--provider", "iwarp,sctp", "--sctp-udp", "0", "--memory", "/export",
		"--allow", "192.0.2.0/24", "--metrics", "127.0.0.1:0")
	base, options := s.sctpURL(t)
	code, _, errs := execute(t, "ls", base+"/export"+options)
	if code == cli.ExitOK || !strings.Contains(errs, "out of resource") {
		t.Errorf("exit %d: %s", code, errs)
	}
	s.wantExcluded(t)
}

// TestSCTPURLs parses URLs of servers over SCTP.
func TestSCTPURLs(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"rdma+sctp://h/a", "rdma+sctp://h/a"},
		{"RDMA+SCTP://h:20049/a", "rdma+sctp://h/a"},
		{"rdma+sctp://h:1/a?udp=2", "rdma+sctp://h:1/a?udp=2"},
		{"rdma+sctp://h/a?rpcbind&udp=2", "rdma+sctp://h/a?rpcbind&udp=2"},
		{"rdma+roce://h/a?udp=2", "udp=N is for rdma+sctp://"},
		{"rdma://h/a?udp=2", "udp=N is for rdma+sctp://"},
		{"rdma+sctp://h/a?udp=0", "0 is not a port"},
		{"sctp://h/a", "unknown scheme sctp"},
	} {
		got, err := reach.ParseTarget(tt.url)
		said := got.String()
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.url, said, tt.want)
		}
	}
}
