//go:build interop

package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/portmapper"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// rdmaPort is where the servers claim to listen for RDMA. Nothing listens there.
const rdmaPort = 20049

// serve serves NULL of NFS and MOUNT over TCP, on IPv4 and IPv6, and returns the address.
func serve(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{})
	s.Handle(oncrpc.Program{Name: "NFS", Number: nfs3.Program, Version: nfs3.Version},
		oncrpc.Program{Name: "MOUNT", Number: mount3.Program, Version: mount3.Version})
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: slog.New(slog.DiscardHandler)})
	}()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// services returns the mappings of NFS and MOUNT at addr, and at rdmaPort.
func services(addr netip.AddrPort) (all []rpcbind.Mapping) {
	rdma := netip.AddrPortFrom(netip.IPv6Unspecified(), rdmaPort)
	for _, p := range [][2]uint32{{nfs3.Program, nfs3.Version}, {mount3.Program, mount3.Version}} {
		all = append(all, rpcbind.Mappings(p[0], p[1], rpcbind.NetidTCP, addr)...)
		all = append(all, rpcbind.Mappings(p[0], p[1], rpcbind.NetidRDMA, rdma)...)
	}
	return all
}

func local(t *testing.T) *rpcbind.Client {
	t.Helper()
	c, err := rpcbind.DialLocal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func overTCP(t *testing.T) *rpcbind.Client {
	t.Helper()
	c, err := rpcbind.Dial(t.Context(), "tcp", "127.0.0.1:111")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// registered returns the mappings of NFS and MOUNT that rpcbind has.
func registered(t *testing.T, c *rpcbind.Client) []rpcbind.Mapping {
	t.Helper()
	all, err := c.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(m rpcbind.Mapping) bool { return m.Program != nfs3.Program && m.Program != mount3.Program })
}

// register registers mappings until the test ends. There must be none before.
func register(t *testing.T, c *rpcbind.Client, mappings []rpcbind.Mapping) *rpcbind.Registration {
	t.Helper()
	if there := registered(t, c); len(there) > 0 {
		t.Fatalf("somebody has registered %v", there)
	}
	r, err := rpcbind.Register(t.Context(), c, mappings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Unregister(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// me returns rpcbind's name for the user of this process.
func me() string {
	if os.Getuid() == 0 {
		return "superuser"
	}
	return strconv.Itoa(os.Getuid())
}

// owned returns mappings as rpcbind returns them.
func owned(mappings []rpcbind.Mapping, owner string) []rpcbind.Mapping {
	mappings = slices.Clone(mappings)
	for i := range mappings {
		mappings[i].Owner = owner
	}
	return mappings
}

// rpcinfo runs rpcinfo and returns its lines, with single blanks between the words.
func rpcinfo(t *testing.T, args ...string) ([]string, error) {
	t.Helper()
	out, err := exec.Command(portmapper.Find("rpcinfo"), args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines, err
}

// TestRegister: rpcbind has our registrations for all netids, and rpcinfo shows them and reaches
// the server.
func TestRegister(t *testing.T) {
	addr := serve(t)
	all := services(addr)
	c := local(t)
	r := register(t, c, all)
	if got, want := registered(t, c), owned(all, me()); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	lines, err := rpcinfo(t)
	for _, m := range all {
		prefix := fmt.Sprintf("%d %d %s %s ", m.Program, m.Version, m.Netid, m.Addr)
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) && strings.HasSuffix(l, me()) }) {
			t.Errorf("rpcinfo does not show %q: %v\n%s", prefix, err, strings.Join(lines, "\n"))
		}
	}
	lines, err = rpcinfo(t, "-p")
	for _, p := range [][2]uint32{{nfs3.Program, nfs3.Version}, {mount3.Program, mount3.Version}} {
		prefix := fmt.Sprintf("%d %d tcp %d", p[0], p[1], addr.Port())
		if !slices.ContainsFunc(lines, func(l string) bool { return l == prefix || strings.HasPrefix(l, prefix+" ") }) {
			t.Errorf("rpcinfo -p does not show %q: %v\n%s", prefix, err, strings.Join(lines, "\n"))
		}
		for netid, host := range map[string]string{"tcp": "127.0.0.1", "tcp6": "::1"} {
			want := fmt.Sprintf("program %d version %d ready and waiting", p[0], p[1])
			if got, err := rpcinfo(t, "-T", netid, host, fmt.Sprint(p[0]), fmt.Sprint(p[1])); err != nil || !slices.Contains(got, want) {
				t.Errorf("rpcinfo -T %s: got %q, %v, want %q", netid, got, err, want)
			}
		}
	}

	if err := r.Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := registered(t, c); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
	for _, args := range [][]string{nil, {"-p"}} {
		lines, err := rpcinfo(t, args...)
		if err != nil || slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, fmt.Sprint(nfs3.Program, " ")) }) {
			t.Errorf("rpcinfo %v: %v\n%s", args, err, strings.Join(lines, "\n"))
		}
	}
	if got, err := rpcinfo(t, "-T", "tcp", "127.0.0.1", fmt.Sprint(nfs3.Program), "3"); err == nil {
		t.Errorf("rpcinfo -T: got %q, want a failure", got)
	}
}

// What rpcbind and its port mapper answer.
func TestLookup(t *testing.T) {
	register(t, local(t), services(netip.MustParseAddrPort("[::]:2049")))
	nfs := func(netid string, version uint32) rpcbind.Mapping {
		return rpcbind.Mapping{Program: nfs3.Program, Version: version, Netid: netid}
	}
	tests := []struct {
		name string
		c    *rpcbind.Client
		m    rpcbind.Mapping
		addr string // of GETADDR
		vers string // of GETVERSADDR
	}{
		{"tcp over TCP", overTCP(t), nfs("tcp", 3), "127.0.0.1.8.1", "127.0.0.1.8.1"},
		{"no netid over TCP", overTCP(t), nfs("", 3), "127.0.0.1.8.1", "127.0.0.1.8.1"},
		{"rdma over TCP", overTCP(t), nfs("rdma", 3), "0.0.0.0.78.81", "0.0.0.0.78.81"},
		{"rdma6 over TCP", overTCP(t), nfs("rdma6", 3), "::.78.81", "::.78.81"},
		{"tcp over the Unix socket", local(t), nfs("tcp", 3), "0.0.0.0.8.1", "0.0.0.0.8.1"},
		{"rdma over the Unix socket", local(t), nfs("rdma", 3), "0.0.0.0.78.81", "0.0.0.0.78.81"},
		{"another version", overTCP(t), nfs("tcp", 4), "127.0.0.1.8.1", ""},
		{"another version of rdma", overTCP(t), nfs("rdma", 4), "", ""},
		{"not there", overTCP(t), nfs("udp", 3), "", ""},
	}
	for _, tt := range tests {
		for _, q := range []struct {
			name string
			get  func(context.Context, rpcbind.Mapping) (string, error)
			want string
		}{{"GetAddr", tt.c.GetAddr, tt.addr}, {"GetVersAddr", tt.c.GetVersAddr, tt.vers}} {
			got, err := q.get(t.Context(), tt.m)
			if got != q.want || (q.want == "") != errors.Is(err, rpcbind.ErrNotRegistered) || q.want != "" && err != nil {
				t.Errorf("%s, %s: got %q, %v, want %q", tt.name, q.name, got, err, q.want)
			}
		}
	}
	want := rpcbind.PortMapping{Program: nfs3.Program, Version: 3, Protocol: rpcbind.ProtoTCP, Port: 2049}
	if got, err := overTCP(t).GetPort(t.Context(), want); err != nil || got != 2049 {
		t.Errorf("GetPort: got %d, %v, want 2049", got, err)
	}
	if got, err := overTCP(t).DumpPorts(t.Context()); err != nil || !slices.Contains(got, want) {
		t.Errorf("DumpPorts: got %v, %v, want %v among them", got, err, want)
	}
}

// TestOwner: which users may change a mapping.
func TestOwner(t *testing.T) {
	c := local(t)
	m := rpcbind.Mapping{Program: nfs3.Program, Version: 3, Netid: "rdma", Addr: "0.0.0.0.78.81"}
	register(t, c, []rpcbind.Mapping{m})
	other := m
	other.Addr = "0.0.0.0.1.1"
	if err := c.Set(t.Context(), other); !errors.Is(err, rpcbind.ErrRefused) {
		t.Errorf("another address: got %v, want ErrRefused", err)
	}
	if err := overTCP(t).Unset(t.Context(), m); !errors.Is(err, rpcbind.ErrRefused) {
		t.Errorf("removed over TCP: got %v, want ErrRefused", err)
	}
	if got, want := registered(t, c), owned([]rpcbind.Mapping{m}, me()); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	// A mapping made over TCP has no owner.
	m.Program = mount3.Program
	anybody := overTCP(t)
	r, err := rpcbind.Register(t.Context(), anybody, []rpcbind.Mapping{m})
	if err != nil {
		t.Fatal(err)
	}
	if got := registered(t, c); len(got) != 2 || got[1].Owner != "unknown" {
		t.Errorf("got %v", got)
	}
	if err := r.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStale: a killed server leaves its mappings, and the next one replaces them. If the first one
// then unregisters, the new mappings stay.
func TestStale(t *testing.T) {
	c := local(t)
	old := services(netip.MustParseAddrPort("[::]:2049"))
	first := register(t, c, old)
	next := services(netip.MustParseAddrPort("[::]:2050"))
	r, err := rpcbind.Register(t.Context(), c, next)
	if err != nil {
		t.Fatal(err)
	}
	want := owned(next, me())
	if got := registered(t, c); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := first.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
	// the same address
	want = slices.DeleteFunc(want, func(m rpcbind.Mapping) bool { return strings.HasPrefix(m.Netid, "rdma") })
	if got := registered(t, c); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := r.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRestart: after a warm start, rpcbind still has the mappings, and the client finds them.
func TestRestart(t *testing.T) {
	if ours == nil {
		t.Skip("the rpcbind that is running is not ours to stop")
	}
	c := local(t)
	all := services(netip.MustParseAddrPort("[::]:2049"))
	r := register(t, c, all)
	if err := ours.Restart(); err != nil {
		t.Fatal(err)
	}
	if got, want := registered(t, c), owned(all, me()); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := r.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
}
