package main

import (
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

var lookupsLine = regexp.MustCompile(`(?m)^look-ups over RDMA \(iwarp\) on (.*)$`)

// lookups returns the address of a server's port for look-ups.
func (s *serveCommand) lookups(t *testing.T) string {
	t.Helper()
	m := lookupsLine.FindStringSubmatch(s.greeting)
	if m == nil {
		t.Fatalf("no port for look-ups in\n%s", s.greeting)
	}
	return m[1]
}

// needIPv6 skips tests where there is no IPv6, not even inside the machine.
func needIPv6(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	l.Close()
}

// port returns the port of an address.
func port(t *testing.T, addr string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestServeRDMARPCBind: the port of --rdma-rpcbind tells where the programs are, and serves only
// look-ups. The RDMA ports that it names can be connected to.
func TestServeRDMARPCBind(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		t.Run(host, func(t *testing.T) {
			rdma, tcp := "rdma", "tcp"
			if host == "[::1]" {
				needIPv6(t)
				rdma, tcp = "rdma6", "tcp6"
			}
			s := startServe(t, "--memory", "/export", "--listen", host+":0", "--mount", host+":0",
				"--rdma-rpcbind", host+":0")
			conn := dialRDMA(t, s.lookups(t))
			c := rpcbind.NewClient(conn)
			all, err := c.Dump(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, m := range all {
				got = append(got, m.String())
			}
			for _, version := range []string{"2", "3", "4"} {
				want = append(want, "100000."+version+" "+rdma+" "+universal(t, s.lookups(t)),
					"100000."+version+" "+tcp+" "+universal(t, s.tcp))
			}
			for _, program := range []string{"100003.3", "100005.3"} {
				want = append(want, program+" "+rdma+" "+universal(t, s.rdma),
					program+" "+tcp+" "+universal(t, s.tcp))
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			addr, err := c.GetAddr(t.Context(),
				rpcbind.Mapping{Program: nfs3.Program, Version: nfs3.Version, Netid: rdma})
			if err != nil {
				t.Fatal(err)
			}
			at, err := rpcbind.ParseUniversalAddr(addr)
			if err != nil || at.String() != s.rdma {
				t.Fatalf("NFS is at %v, %v, want %s", at, err, s.rdma)
			}
			if err := nfsclient.New(dialRDMA(t, at.String()), oncrpc.AuthNone()).Null(t.Context()); err != nil {
				t.Errorf("NFS where it was found: %v", err)
			}
			var refused *oncrpc.AcceptError
			err = nfsclient.New(conn, oncrpc.AuthNone()).Null(t.Context())
			if !errors.As(err, &refused) || refused.Stat != oncrpc.ProgUnavail {
				t.Errorf("NFS at the port for look-ups: got %v, want PROG_UNAVAIL", err)
			}
			if code := s.stop(); code != cli.ExitOK {
				t.Errorf("exit %d: %v", code, s.stderr)
			}
		})
	}
}

// TestServeRDMARPCBindEverywhere: a server that listens at all addresses names, over RDMA, the one
// by which it was asked, in either family.
func TestServeRDMARPCBindEverywhere(t *testing.T) {
	needIPv6(t)
	s := startServe(t, "--memory", "/export", "--listen", "[::]:0", "--mount", "none",
		"--rdma-rpcbind", "[::]:0")
	for _, tt := range []struct{ host, netid string }{{"127.0.0.1", "rdma"}, {"::1", "rdma6"}} {
		c := rpcbind.NewClient(dialRDMA(t, net.JoinHostPort(tt.host, port(t, s.lookups(t)))))
		want := universal(t, net.JoinHostPort(tt.host, port(t, s.rdma)))
		for _, netid := range []string{tt.netid, ""} {
			m := rpcbind.Mapping{Program: nfs3.Program, Version: nfs3.Version, Netid: netid}
			if got, err := c.GetAddr(t.Context(), m); err != nil || got != want {
				t.Errorf("%s, netid %q: NFS is at %q, %v, want %q", tt.host, netid, got, err, want)
			}
		}
	}
}

// TestServeRDMARPCBindUsage: invalid addresses, and one that is taken.
func TestServeRDMARPCBindUsage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const free = "--memory /m --listen 127.0.0.1:0 --mount 127.0.0.1:0 --rdma-rpcbind "
	for _, tt := range []struct {
		args string
		code int
		say  string
	}{
		{free + "111", cli.ExitUsage, `--rdma-rpcbind "111": write HOST:PORT, or :PORT for all addresses of this host`},
		{free + ":65536", cli.ExitUsage, `--rdma-rpcbind ":65536": write a port from 0 to 65535`},
		{"--memory /m --rdma-rpcbind :20049", cli.ExitUsage, "--rdma-rpcbind and --listen are both :20049, which answers look-ups anyway: leave out --rdma-rpcbind"},
		{"--memory /m --rdma-rpcbind :20048", cli.ExitUsage, "--rdma-rpcbind and --mount are both :20048: RDMA and TCP need a port each"},
		{free + ":111 --rpcbind", cli.ExitUsage, "--rpcbind needs rpcbind, which has port 111: leave out --rdma-rpcbind, or --rpcbind if rpcbind does not run\n"},
		{free + "127.0.0.1:00111 --rpcbind", cli.ExitUsage, "--rpcbind needs rpcbind"},
		{free + taken.Addr().String(), cli.ExitFailed, "--rdma-rpcbind " + taken.Addr().String() + ": address already in use; another server may have it: choose another port with --rdma-rpcbind"},
	} {
		code, stdout, stderr := execute(t, append([]string{"serve"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.say) || stdout != "" {
			t.Errorf("%s: exit %d, want %d: %swant %q; on standard output: %s", tt.args, code, tt.code, stderr, tt.say, stdout)
		}
	}
}

// TestServeRPCBind6: a server at all addresses is registered for both families.
func TestServeRPCBind6(t *testing.T) {
	needIPv6(t)
	p := newFakeRpcbind(t)
	s, ended := startRegistered(t, p.dial, "--listen", "[::]:0", "--mount", "[::1]:0")
	s.greet(t)
	if want := "\nregistered with rpcbind for rdma, rdma6, tcp6\n"; !strings.Contains(s.greeting, want) {
		t.Errorf("no %q in\n%s", want, s.greeting)
	}
	var want []string
	for _, program := range []string{"100003.3", "100005.3"} {
		want = append(want, program+" rdma "+universal(t, "0.0.0.0:"+port(t, s.rdma)),
			program+" rdma6 "+universal(t, s.rdma),
			program+" tcp6 "+universal(t, s.tcp))
	}
	if diff := cmp.Diff(want, p.registered()); diff != "" {
		t.Error("registered while the server runs:", diff)
	}
	s.cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := p.registered(); len(got) > 0 {
		t.Error("registered when the server has ended:", got)
	}
}

// TestFindURL: commands find NFS by a URL with ?rpcbind, by each port for look-ups, over each
// transport and family, in each dialect.
func TestFindURL(t *testing.T) {
	for _, tt := range []struct{ host, dialect string }{{"127.0.0.1", "rfc8166"}, {"[::1]", "rfc8166"}, {"127.0.0.1", "draft"}, {"[::1]", "draft"}} {
		t.Run(tt.dialect+", "+tt.host, func(t *testing.T) {
			host := tt.host
			if host == "[::1]" {
				needIPv6(t)
			}
			s := startServe(t, "--memory", "/export", "--squash", "none", "--listen", host+":0",
				"--mount", host+":0", "--rdma-rpcbind", host+":0",
				"--dialect", tt.dialect)
			for name, ask := range map[string]struct{ scheme, at string }{
				"a": {"rdma", s.lookups(t)}, "b": {"rdma", s.rdma}, "c": {"rdma", s.tcp}, "d": {"tcp", s.tcp}, "e": {"tcp", s.rdma},
			} {
				url := ask.scheme + "://" + host + "/export/" + name + "?rpcbind=" + port(t, ask.at)
				if code, stdout, stderr := execute(t, "mkdir", "--dialect", tt.dialect, url); code != cli.ExitOK {
					t.Errorf("mkdir %s: exit %d, %s%s", url, code, stdout, stderr)
				}
			}
			if code, stdout, stderr := execute(t, "ls", "--dialect", tt.dialect, "rdma://"+s.rdma+"/export"); code != cli.ExitOK || stdout != "a\nb\nc\nd\ne\n" {
				t.Errorf("ls: exit %d, %swant 5 directories: %s", code, stdout, stderr)
			}
		})
	}
}

// TestFindURLFails: messages if the port is unknown or wrong.
func TestFindURLFails(t *testing.T) {
	dead := deadport.New(t, "127.0.0.1").String()
	gone := newLookups(t, rpcbind.Mapping{Program: nfs3.Program, Version: nfs3.Version, Netid: "rdma", Addr: universal(t, dead)})
	none := newLookups(t, rpcbind.Mapping{Program: nfs3.Program, Version: nfs3.Version, Netid: "tcp", Addr: universal(t, dead)})
	for _, tt := range []struct{ name, url, say string }{
		{"nobody to ask", "rdma://127.0.0.1/x?rpcbind=" + port(t, dead),
			"127.0.0.1 does not say at which port NFS over RDMA is: RDMA port " + dead + ": " + words.ConnRefused.Error() +
				"; TCP port " + dead + ": " + words.ConnRefused.Error() + "; write the port, such as rdma://127.0.0.1:20049\n"},
		{"nobody to ask, TCP", "tcp://127.0.0.1/x?rpcbind=" + port(t, dead),
			"127.0.0.1 does not say at which port NFS over TCP is: TCP port " + dead + ": " + words.ConnRefused.Error() +
				"; RDMA port " + dead + ": " + words.ConnRefused.Error() + "; write the port, such as tcp://127.0.0.1:20048\n"},
		{"not registered", "rdma://127.0.0.1/x?rpcbind=" + port(t, none),
			"; TCP port " + none + ": not registered; write the port, such as rdma://127.0.0.1:20049\n"},
		{"registered and gone", "rdma://127.0.0.1/x?rpcbind=" + port(t, gone), "nothing listens at port " + dead + ", which rpcbind names for NFS over RDMA: is the server still running, and does it listen at this address? Over TCP, try tcp://127.0.0.1 "},
	} {
		code, stdout, stderr := execute(t, "ls", tt.url)
		if code != cli.ExitFailed || stdout != "" || !strings.Contains(stderr, tt.say) {
			t.Errorf("%s: exit %d, %s%swant %q", tt.name, code, stdout, stderr, tt.say)
		}
	}
}

// newLookups answers look-ups of mappings over TCP until the test ends, and returns where.
func newLookups(t *testing.T, mappings ...rpcbind.Mapping) string {
	t.Helper()
	return tcpServer(t, rpcbind.Programs(mappings)...)
}

// TestFindURLAgain: a server that comes back at another port is found there.
func TestFindURLAgain(t *testing.T) {
	servers := []*serveCommand{
		startServe(t, "--memory", "/export", "--squash", "none", "--mount", "none"),
		startServe(t, "--memory", "/export", "--squash", "none", "--mount", "none"),
	}
	p := newFakeRpcbind(t, rpcbind.Mapping{Program: nfs3.Program, Version: nfs3.Version, Netid: "rdma", Addr: universal(t, servers[0].rdma)})
	var r remote.Session
	defer r.Close()
	url := "rdma://127.0.0.1/export?rpcbind=" + port(t, p.addr)
	m, _, err := r.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	p.move(universal(t, servers[1].rdma))
	servers[0].stop()
	if err := m.Client.Null(t.Context()); err != nil {
		t.Errorf("after the server has moved: %v", err)
	}
}

// TestFindURLTwo: URLs with different ports of rpcbind name different servers.
func TestFindURLTwo(t *testing.T) {
	var r remote.Session
	defer r.Close()
	for _, export := range []string{"/a", "/b"} {
		s := startServe(t, "--memory", export)
		if m, _, err := r.Open(t.Context(), "rdma://127.0.0.1"+export+"?rpcbind="+port(t, s.rdma)); err != nil || m.Root.Export != export {
			t.Errorf("%s: got %+v, %v", export, m, err)
		}
	}
}

// move changes the address of all registrations.
func (p *fakeRpcbind) move(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.maps {
		p.maps[i].Addr = addr
	}
}

// TestGatewayFinds: a gateway finds its server by rpcbind, too.
func TestGatewayFinds(t *testing.T) {
	server := startServe(t, "--memory", "/export", "--squash", "none", "--rdma-rpcbind",
		"127.0.0.1:0")
	to := "rdma://127.0.0.1?rpcbind=" + port(t, server.lookups(t))
	g := startGateway(t, nil, "--to", to)
	if want := "gateway to " + to + ", over TCP on "; !strings.HasPrefix(g.greeting, want) {
		t.Errorf("no %q in\n%s", want, g.greeting)
	}
	if _, err := user(t, dialTCP(t, g.tcp), 0).Mount(t.Context(), "/export"); err != nil {
		t.Error(err)
	}
	code, _, stderr := execute(t, "gateway", "--to", "rdma://h", "--mount-to", "tcp://h?rpcbind")
	if code != cli.ExitUsage || !strings.Contains(stderr, "--mount-to: write the port after the host: tcp://HOST:PORT") {
		t.Errorf("--mount-to with ?rpcbind: exit %d, %s", code, stderr)
	}
}
