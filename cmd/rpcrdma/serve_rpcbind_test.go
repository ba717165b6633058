package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// fakeRpcbind is an rpcbind (RFC 1833 section 2.2.1).
type fakeRpcbind struct {
	addr string
	stop func()

	mu   sync.Mutex // guards what follows
	maps []rpcbind.Mapping
	deny bool // SET is refused
	keep bool // UNSET is
}

func newFakeRpcbind(t *testing.T, maps ...rpcbind.Mapping) *fakeRpcbind {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &fakeRpcbind{addr: l.Addr().String(), maps: maps}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Name: "RPCBIND", Number: rpcbind.Program, Version: rpcbind.Version4, Procedures: []oncrpc.Procedure{
		1: {Name: "SET", Handler: p.change(p.set)},
		2: {Name: "UNSET", Handler: p.change(p.unset)},
		4: {Name: "DUMP", Handler: p.dump},
	}})
	over := make(chan struct{})
	go func() {
		defer close(over)
		recordmark.Serve(context.Background(), l, srv, recordmark.Config{})
	}()
	p.stop = func() {
		srv.Close()
		<-over
	}
	t.Cleanup(p.stop)
	return p
}

// refuse has it refuse SET, or UNSET.
func (p *fakeRpcbind) refuse(set, unset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deny, p.keep = set, unset
}

// dial is the RPCBindDialer of this one.
func (p *fakeRpcbind) dial(ctx context.Context) (*rpcbind.Client, error) {
	return rpcbind.Dial(ctx, "tcp", p.addr)
}

func (p *fakeRpcbind) change(f func(rpcbind.Mapping) bool) oncrpc.Handler {
	return func(_ context.Context, c *oncrpc.Call) error {
		var m rpcbind.Mapping
		m.UnmarshalXDR(c.Args)
		if err := c.Args.Finish(); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		c.Results.Bool(f(m))
		return nil
	}
}

func (p *fakeRpcbind) set(m rpcbind.Mapping) bool {
	if p.deny || slices.ContainsFunc(p.maps, func(x rpcbind.Mapping) bool { return same(x, m) }) {
		return false
	}
	p.maps = append(p.maps, m)
	return true
}

func (p *fakeRpcbind) unset(m rpcbind.Mapping) bool {
	if p.keep {
		return false
	}
	p.maps = slices.DeleteFunc(p.maps, func(x rpcbind.Mapping) bool { return same(x, m) })
	return true
}

// same reports whether two mappings exclude each other.
func same(a, b rpcbind.Mapping) bool {
	return a.Program == b.Program && a.Version == b.Version && a.Netid == b.Netid
}

func (p *fakeRpcbind) dump(_ context.Context, c *oncrpc.Call) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.maps {
		c.Results.Bool(true)
		m.MarshalXDR(c.Results)
	}
	c.Results.Bool(false)
	return nil
}

// registered lists what is registered, without the owners.
func (p *fakeRpcbind) registered() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, m := range p.maps {
		list = append(list, m.String())
	}
	slices.Sort(list)
	return list
}

// startRegistered runs serve with --rpcbind, and dial in place of that of this machine's rpcbind.
func startRegistered(t *testing.T, dial serve.RPCBindDialer,
	args ...string) (*serveCommand, <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &serveCommand{stdout: newTranscript(), stderr: newTranscript(), cancel: cancel,
		over: make(chan struct{})}
	cmd := serve.NewCommand(dial)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--memory", "/export", "--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0", "--rpcbind"}, args...))
	cmd.SetOut(s.stdout)
	cmd.SetErr(s.stderr)
	ended := make(chan error, 1)
	go func() {
		defer close(s.over)
		ended <- cmd.ExecuteContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-s.over
	})
	return s, ended
}

// universal returns an address as rpcbind has it (RFC 5665 section 5.2.3.3).
func universal(t *testing.T, addr string) string {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v.%d.%d", a.IP, a.Port>>8, a.Port&0xff)
}

// TestServeRPCBind: both programs are registered at both ports while the server runs. Registrations
// that another server left are replaced; others stay.
func TestServeRPCBind(t *testing.T) {
	other := rpcbind.Mapping{Program: 400000, Version: 1, Netid: "tcp", Addr: "127.0.0.1.0.99"}
	left := rpcbind.Mapping{Program: 100003, Version: 3, Netid: "tcp",
		Addr: universal(t, deadport.New(t, "127.0.0.1").String())}
	more := left
	more.Program = 100005
	p := newFakeRpcbind(t, other, left, more)
	s, ended := startRegistered(t, p.dial)
	s.greet(t)
	if want := "\nregistered with rpcbind for rdma, tcp\n"; !strings.Contains(s.greeting, want) {
		t.Errorf("no %q in\n%s", want, s.greeting)
	}
	want := []string{
		"100003.3 rdma " + universal(t, s.rdma),
		"100003.3 tcp " + universal(t, s.tcp),
		"100005.3 rdma " + universal(t, s.rdma),
		"100005.3 tcp " + universal(t, s.tcp),
		"400000.1 tcp 127.0.0.1.0.99",
	}
	if diff := cmp.Diff(want, p.registered()); diff != "" {
		t.Error("registered while the server runs:", diff)
	}
	warning := `level=WARN msg="replaced the rpcbind registration of a server that does not answer" was="` + left.String() + ", " + more.String() + `"`
	if got := s.stderr.String(); strings.Count(got, warning) != 1 || strings.Count(got, "WARN") != 1 {
		t.Errorf("want once %s\n%s", warning, got)
	}
	s.cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"400000.1 tcp 127.0.0.1.0.99"}, p.registered()); diff != "" {
		t.Error("registered when the server has ended:", diff)
	}
}

// TestServeRPCBindWithoutTCP registers only the RDMA port.
func TestServeRPCBindWithoutTCP(t *testing.T) {
	p := newFakeRpcbind(t)
	s, _ := startRegistered(t, p.dial, "--mount", "none")
	s.greet(t)
	want := []string{"100003.3 rdma " + universal(t, s.rdma),
		"100005.3 rdma " + universal(t, s.rdma)}
	if diff := cmp.Diff(want, p.registered()); diff != "" {
		t.Error(diff)
	}
}

// TestServeLookup: both ports answer look-ups, with or without --rpcbind, and refuse changes.
func TestServeLookup(t *testing.T) {
	registered, _ := startRegistered(t, newFakeRpcbind(t).dial)
	registered.greet(t)
	for name, s := range map[string]*serveCommand{
		"registered":     registered,
		"not registered": startServe(t, "--memory", "/export"),
		"without TCP":    startServe(t, "--memory", "/export", "--mount", "none"),
	} {
		var want []string
		conns := map[string]oncrpc.Transport{"RDMA": dialRDMA(t, s.rdma)}
		if s.tcp != "" {
			conns["TCP"] = dialTCP(t, s.tcp)
		}
		for _, program := range []string{"100000.2", "100000.3", "100000.4", "100003.3", "100005.3"} {
			want = append(want, program+" rdma "+universal(t, s.rdma))
			if s.tcp != "" {
				want = append(want, program+" tcp "+universal(t, s.tcp))
			}
		}
		slices.Sort(want)
		for over, conn := range conns {
			c := rpcbind.NewClient(conn)
			if err := c.Unset(t.Context(), rpcbind.Mapping{Program: 100003, Version: 3}); !errors.Is(err, rpcbind.ErrRefused) {
				t.Errorf("%s, over %s: UNSET: %v, want %v", name, over, err, rpcbind.ErrRefused)
			}
			all, err := c.Dump(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range all {
				got = append(got, m.String())
				addr, err := c.GetAddr(t.Context(), m)
				if err != nil || addr != m.Addr {
					t.Errorf("%s, over %s: %v is at %q, %v", name, over, m, addr, err)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, over %s: %s", name, over, diff)
			}
		}
	}
}

// TestServeLookupEverywhere: a server that listens at all addresses names the one by which it was
// reached.
func TestServeLookupEverywhere(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--listen", "0.0.0.0:0", "--mount", "0.0.0.0:0")
	at := func(addr string) string {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		return net.JoinHostPort("127.0.0.1", port)
	}
	for netid, addr := range map[string]string{"rdma": at(s.rdma), "tcp": at(s.tcp)} {
		conn := dialTCP
		if netid == "rdma" {
			conn = dialRDMA
		}
		c := rpcbind.NewClient(conn(t, addr))
		for _, program := range []uint32{100003, 100005} {
			m := rpcbind.Mapping{Program: program, Version: 3, Netid: netid}
			if got, err := c.GetAddr(t.Context(), m); err != nil || got != universal(t, addr) {
				t.Errorf("%v is at %q, %v, want %q", m, got, err, universal(t, addr))
			}
		}
	}
}

// TestServeRPCBindFails: a server that cannot register does not serve.
func TestServeRPCBindFails(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "rpcbind.sock")
	denying := newFakeRpcbind(t)
	denying.refuse(true, false)
	for _, tt := range []struct {
		name string
		dial serve.RPCBindDialer
		say  string
	}{
		{"nobody there", func(ctx context.Context) (*rpcbind.Client, error) { return rpcbind.Dial(ctx, "unix", nowhere) },
			"is rpcbind running? Start it with 'rpcbind -w', or leave out --rpcbind: rpcbind dial: unix " + nowhere + ": "},
		{"refused", denying.dial, "root removes it with 'rpcinfo -d 100003 3' and 'rpcinfo -d 100005 3'"},
	} {
		s, ended := startRegistered(t, tt.dial)
		if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "--rpcbind: ") || !strings.Contains(err.Error(), tt.say) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in one line", tt.name, err, tt.say)
		}
		if got := s.stdout.String(); got != "" {
			t.Errorf("%s: on standard output: %s", tt.name, got)
		}
	}
}

// TestServeRPCBindStays: if the server cannot unregister, it logs that, and does not fail.
func TestServeRPCBindStays(t *testing.T) {
	p := newFakeRpcbind(t)
	s, ended := startRegistered(t, p.dial)
	s.greet(t)
	p.refuse(false, true)
	s.cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := `level=WARN msg="this server is still registered with rpcbind: root removes that with 'rpcinfo -d 100003 3' and 'rpcinfo -d 100005 3'" ` +
		`err="rpcbind unset 100003.3 rdma `
	if got := s.stderr.String(); !strings.Contains(got, want) || strings.Contains(got, `\n`) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

// TestServeRPCBindGone: an rpcbind that is gone when the server ends may come back with the
// registrations, or without.
func TestServeRPCBindGone(t *testing.T) {
	p := newFakeRpcbind(t)
	s, ended := startRegistered(t, p.dial)
	s.greet(t)
	p.stop()
	s.cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := `level=WARN msg="cannot unregister from rpcbind: if it comes back and still knows this server, root removes that with 'rpcinfo -d 100003 3' and 'rpcinfo -d 100005 3'" `
	if got := s.stderr.String(); !strings.Contains(got, want) || strings.Contains(got, "still registered") {
		t.Errorf("no %s in\n%s", want, got)
	}
}
