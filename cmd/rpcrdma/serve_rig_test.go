package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// transcript is an output that several goroutines write to, and that tests wait for.
type transcript struct {
	mu      sync.Mutex // guards what follows
	text    bytes.Buffer
	changed chan struct{} // closed, and replaced, by a write
}

func newTranscript() *transcript { return &transcript{changed: make(chan struct{})} }

func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the transcript has some text, or until it is over; it returns all there is.
func (o *transcript) await(text string, over <-chan struct{}) string {
	for {
		o.mu.Lock()
		s, changed := o.text.String(), o.changed
		o.mu.Unlock()
		if strings.Contains(s, text) {
			return s
		}
		select {
		case <-changed:
		case <-over:
			return o.String()
		}
	}
}

// serveCommand is a serve command that runs within the test.
type serveCommand struct {
	greeting  string
	rdma, tcp string // addresses
	stdout    *transcript
	stderr    *transcript
	cancel    context.CancelFunc
	over      chan struct{}
	code      int // when over
}

var (
	rdmaLine = regexp.MustCompile(`(?m)^NFS over RDMA \((?:iwarp|roce)\) on (.*)$`)
	tcpLine  = regexp.MustCompile(`(?m)^MOUNT and NFS over TCP on (.*)$`)
)

// startServe runs serve with ports of its own choice until the test or stop ends it.
func startServe(t *testing.T, args ...string) *serveCommand {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &serveCommand{stdout: newTranscript(), stderr: newTranscript(), cancel: cancel,
		over: make(chan struct{})}
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0"}, args...)
	go func() {
		defer close(s.over)
		s.code = run(ctx, args, s.stdout, s.stderr)
	}()
	t.Cleanup(func() { s.stop() })
	s.greet(t)
	return s
}

// greet waits for the addresses.
func (s *serveCommand) greet(t *testing.T) {
	t.Helper()
	s.greeting = s.stdout.await("over RDMA", s.over)
	m := rdmaLine.FindStringSubmatch(s.greeting)
	if m == nil {
		t.Fatalf("no address in %q; on standard error: %v", s.greeting, s.stderr)
	}
	s.rdma = m[1]
	if m = tcpLine.FindStringSubmatch(s.greeting); m != nil {
		s.tcp = m[1]
	}
}

// wantExcluded checks that serve, with --metrics, has refused a client, and has logged it once. A
// client that waits long for the answer has asked again.
func (s *serveCommand) wantExcluded(t *testing.T) {
	t.Helper()
	_, text := getURL(t, metricsURL(t, s.greeting)+"/metrics")
	if !regexp.MustCompile(`(?m)^rpcrdma_connections_excluded_total [1-9]`).MatchString(text) {
		t.Errorf("no client was refused:\n%s", text)
	}
	s.stop()
	if n := strings.Count(s.stderr.String(), "refused a client that --allow does not name"); n != 1 {
		t.Errorf("%d refusals logged, want 1:\n%s", n, s.stderr)
	}
}

// stop ends the server as a signal does, and returns the exit code.
func (s *serveCommand) stop() int {
	s.cancel()
	<-s.over
	return s.code
}

// dialRDMA and dialTCP connect until the test ends.
func dialRDMA(t *testing.T, addr string) oncrpc.Transport {
	t.Helper()
	c, err := rpcrdma.Dial(t.Context(), iwarp.Dialer{}, addr, rpcrdma.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c
}

func dialTCP(t *testing.T, addr string) oncrpc.Transport {
	t.Helper()
	c, err := recordmark.Dial(t.Context(), addr, recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c
}

// user returns a client that calls as a user, with a group of the same number.
func user(t *testing.T, conn oncrpc.Transport, id uint32) *nfsclient.Client {
	t.Helper()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "client", UID: id, GID: id})
	if err != nil {
		t.Fatal(err)
	}
	return nfsclient.New(conn, cred)
}

// mounted is a mounted export, for one user.
type mounted struct {
	*nfsclient.Client
	root nfs3.FH
}

func mountAs(t *testing.T, conn oncrpc.Transport, id uint32, name string) mounted {
	t.Helper()
	c := user(t, conn, id)
	root, err := c.Mount(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return mounted{c, root}
}

// put makes a file with data in it.
func (m mounted) put(t *testing.T, name string, data []byte) nfs3.FH {
	t.Helper()
	f, err := nfsfs.New(m.Client, m.root, nfsfs.Config{}).OpenFile(t.Context(), name,
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadFrom(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Sync()); err != nil {
		t.Fatal(err)
	}
	return info.(*nfsfs.Info).Handle()
}

// get returns the contents of a file.
func (m mounted) get(t *testing.T, h nfs3.FH) []byte {
	t.Helper()
	f, err := nfsfs.New(m.Client, h, nfsfs.Config{}).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
