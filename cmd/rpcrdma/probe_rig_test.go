package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// probing is how a test probes. It ignores the other ports of this machine.
type probing struct {
	flags  func(*probe.Flags)
	short  bool // some call gets no answer
	change func(*probe.Prober)
}

// reported is a report that tests look at.
type reported struct{ probe.Report }

// of probes a URL, once for text and once for JSON, and returns the JSON report.
func (how probing) of(t *testing.T, url string) (r reported) {
	t.Helper()
	var out bytes.Buffer
	err := how.run(t, url, true, &out)
	if e := json.Unmarshal(out.Bytes(), &r.Report); e != nil {
		t.Fatalf("%v in\n%s", e, &out)
	}
	if failed := errors.Is(err, cli.ErrReported); failed == r.OK || err != nil && !failed {
		t.Errorf("ok is %v, and the error %v", r.OK, err)
	}
	if t.Failed() {
		t.Log(out.String())
	}
	return r
}

// text probes a URL for people.
func (how probing) text(t *testing.T, url string) string {
	t.Helper()
	var out bytes.Buffer
	if err := how.run(t, url, false, &out); err != nil && !errors.Is(err, cli.ErrReported) {
		t.Fatal(err)
	}
	return out.String()
}

func (how probing) run(t *testing.T, url string, asJSON bool, out *bytes.Buffer) error {
	t.Helper()
	flags := probe.NewFlags()
	flags.JSON, flags.Timeout.Duration = asJSON, 20*time.Second
	if how.short { // but long enough for the calls that get an answer from a busy machine
		flags.Timeout.Duration = 4 * time.Second
	}
	if how.flags != nil {
		how.flags(flags)
	}
	at, err := probe.ParseTarget(url)
	if err != nil {
		t.Fatal(err)
	}
	p, err := probe.NewProber(flags, at, out)
	if err != nil {
		t.Fatal(err)
	}
	p.Usual, p.Roce = nil, deadUDP(t)
	if at.Rpcbind == 0 {
		p.Rpcbind = int(deadport.New(t, "127.0.0.1").Port())
	}
	if how.change != nil {
		how.change(p)
	}
	return p.Run(t.Context())
}

// deadUDP is a UDP port of 127.0.0.1 that refuses datagrams, as only those of another port are for
// the socket that occupies it until the test ends.
func deadUDP(t *testing.T) int {
	t.Helper()
	c, err := net.Dial("udp", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().(*net.UDPAddr).Port
}

// names checks that a report has a cause, with that status, at a step, and says what to do.
func (r reported) names(t *testing.T, step string, status probe.Status,
	cause probe.Cause) probe.Finding {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f probe.Finding) bool { return f.Cause == cause })
	if i < 0 {
		t.Errorf("no %s in\n%s", cause, r.lines())
		return probe.Finding{}
	}
	f := r.Findings[i]
	if f.Step != step || f.Status != status || f.Do == "" && status != probe.Note {
		t.Errorf("%s: step %s, %s, to do %q; want %s, %s, and something", cause, f.Step, f.Status,
			f.Do, step, status)
	}
	if failed := status == probe.Fail; failed == r.OK {
		t.Errorf("%s: ok is %v", cause, r.OK)
	}
	if status == probe.Fail && !slices.Equal(r.Causes, []probe.Cause{cause}) {
		t.Errorf("causes %v, want %s alone", r.Causes, cause)
	}
	return f
}

// lines are the findings for people.
func (r reported) lines() string {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.String())
	}
	return b.String()
}

// find returns the first finding of a step with a status.
func (r reported) find(t *testing.T, step string, status probe.Status) probe.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Step == step && f.Status == status {
			return f
		}
	}
	t.Errorf("no %s %s in\n%s", status, step, r.lines())
	return probe.Finding{}
}

// programsOf are the programs of an NFS server.
func programsOf(t *testing.T, exports ...nfsserver.Export) []oncrpc.Program {
	t.Helper()
	s, err := nfsserver.New(nfsserver.Config{Exports: exports, Logger: reach.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	return s.Programs()
}

// exported is a file system with a file in it that is larger than any message.
func exported(t *testing.T) vfs.FS {
	t.Helper()
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	root := &vfs.Cred{}
	o, _, err := fs.Create(t.Context(), root, fs.Root(), "file", &nfs3.CreateHow{
		Mode: nfs3.Unchecked, Set: nfs3.Sattr{
			Mode: nfs3.Set32{Set: true, To: 0o644}, Size: nfs3.Set64{Set: true, To: 200_000},
		}})
	if err != nil || !o.Attr.Present {
		t.Fatal(o, err)
	}
	return fs
}

// rdmaServer serves programs over iWARP until the test ends.
func rdmaServer(t *testing.T, low iwarp.Config, programs ...oncrpc.Program) (addr string) {
	t.Helper()
	low.Logger = reach.Quiet
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", low)
	if err != nil {
		t.Fatal(err)
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: reach.Quiet})
	if err := s.Handle(programs...); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: reach.Quiet})
	}()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().String()
}
