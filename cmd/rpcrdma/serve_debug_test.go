package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

var debugLine = regexp.MustCompile(`(?m)^profiles on (http://.*)/debug/pprof/, counters on /debug/vars$`)

// debugURL is the URL of profiles in a server's greeting, up to the path.
func (s *serveCommand) debugURL(t *testing.T) string {
	t.Helper()
	m := debugLine.FindStringSubmatch(s.greeting)
	if m == nil {
		t.Fatalf("no address in %q", s.greeting)
	}
	return m[1]
}

// fetch gets a URL over a connection that stays open until the test ends.
func fetch(t *testing.T, url string) []byte {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	r, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", url, r.Status, err, b)
	}
	return b
}

// TestDebug: the pages of --debug. They end with the server, even while connections are idle.
func TestDebug(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--debug=127.0.0.1:0")
	url := s.debugURL(t)
	mountAs(t, dialTCP(t, s.tcp), 0, "/export")
	if b := fetch(t, url+"/debug/pprof/"); !bytes.Contains(b, []byte("goroutine?debug=1")) {
		t.Errorf("no list of profiles:\n%s", b)
	}
	z, err := gzip.NewReader(bytes.NewReader(fetch(t, url+"/debug/pprof/heap")))
	if err != nil {
		t.Fatalf("heap: %v", err)
	}
	if b, err := io.ReadAll(z); err != nil || !bytes.Contains(b, []byte("inuse_space")) {
		t.Errorf("heap: %d bytes, %v; want a profile with inuse_space", len(b), err)
	}
	var vars struct {
		NFS        struct{ Mounts int }
		MemStats   struct{ HeapAlloc int }
		Goroutines int
	}
	if err := json.Unmarshal(fetch(t, url+"/debug/vars"), &vars); err != nil {
		t.Fatal(err)
	}
	if vars.NFS.Mounts != 1 || vars.MemStats.HeapAlloc == 0 || vars.Goroutines == 0 {
		t.Errorf("got %+v, want 1 mount, and that there are memory and goroutines", vars)
	}
	if code := s.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		c.Close()
		t.Error("the port is open still")
	}
}

// TestDebugProfileEnds: a server that stops does not wait for a running profile.
func TestDebugProfileEnds(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--debug=127.0.0.1:0")
	c, err := net.Dial("tcp", strings.TrimPrefix(s.debugURL(t), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// A trace sends its beginning at once, and goes on for longer than the test may take.
	if _, err := io.WriteString(c, "GET /debug/pprof/trace?seconds=86400 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if code := s.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
}

// TestDebugGateway: the gateway has --debug, too.
func TestDebugGateway(t *testing.T) {
	server := startServe(t, "--memory", "/export")
	g := startGateway(t, nil, "--to", "rdma://"+server.rdma, "--debug=127.0.0.1:0")
	mountAs(t, dialTCP(t, g.tcp), 0, "/export")
	var vars struct{ Gateway struct{ Replies int } }
	if err := json.Unmarshal(fetch(t, g.debugURL(t)+"/debug/vars"), &vars); err != nil {
		t.Fatal(err)
	}
	if vars.Gateway.Replies == 0 {
		t.Error("no replies are counted")
	}
}

// TestDebugOff: there is no port without the flag, or with an empty address.
func TestDebugOff(t *testing.T) {
	for _, args := range [][]string{nil, {"--debug="}} {
		s := startServe(t, append(args, "--memory", "/export")...)
		if strings.Contains(s.greeting, "debug") {
			t.Errorf("%q: %s", args, s.greeting)
		}
		s.stop()
	}
}

// TestDebugCommandLine: invalid addresses.
func TestDebugCommandLine(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	const ports = "--listen 127.0.0.1:0 --mount 127.0.0.1:0 "
	taken := busy.Addr().String()
	for _, tt := range []struct {
		args string
		code int
		say  string
	}{
		{"--debug=6060", cli.ExitUsage, `--debug "6060": write --debug=HOST:PORT, such as --debug=127.0.0.1:6060`},
		{"--debug=localhost", cli.ExitUsage, "write --debug=HOST:PORT"},
		{"--debug=127.0.0.1:66000", cli.ExitUsage, "write --debug=HOST:PORT"},
		{"--debug=:6060", cli.ExitUsage, `--debug ":6060": write --debug=127.0.0.1:6060, or 0.0.0.0:6060 if everybody may see the memory of this process`},
		{"--debug 127.0.0.1:6061", cli.ExitUsage, `unknown argument "127.0.0.1:6061": exports are named with --export and --memory; or write --debug=127.0.0.1:6061`},
		{ports + "--debug=" + taken, cli.ExitFailed, "--debug " + taken + ": " + "address already in use; another server may have it: choose another port with --debug"},
	} {
		code, stdout, stderr := execute(t, append([]string{"serve", "--memory", "/m"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.say) {
			t.Errorf("%s: exit %d, want %d: %swant %q", tt.args, code, tt.code, stderr, tt.say)
		}
		if stdout != "" {
			t.Errorf("%s: on standard output: %s", tt.args, stdout)
		}
	}
	if _, stdout, _ := execute(t, "serve", "--help"); !strings.Contains(stdout, `--debug ADDRESS[="127.0.0.1:6060"]`) {
		t.Errorf("the help does not tell the address that goes without saying:\n%s", stdout)
	}
}
