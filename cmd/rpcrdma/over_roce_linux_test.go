package main

import (
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// startRoCE runs serve over RoCE, at an address of the test's own. More arguments may add
// providers.
func startRoCE(t *testing.T, args ...string) *serveCommand {
	t.Helper()
	at := netip.AddrPortFrom(rocerig.Addr(t), 0)
	return startServe(t, append([]string{"--provider", "roce", "--listen", at.String()}, args...)...)
}

// TestServeRoCE: clients reach a server over RoCE, alone and together with iWARP at the same port.
func TestServeRoCE(t *testing.T) {
	for _, tt := range []struct {
		providers string
		bases     []string
	}{
		{"roce", []string{"rdma+roce://"}},
		{"roce,iwarp", []string{"rdma+roce://", "rdma://"}},
	} {
		t.Run(tt.providers, func(t *testing.T) {
			s := startRoCE(t, "--provider", tt.providers, "--memory", "/export", "--squash", "none")
			dir, data := t.TempDir(), rig.Pattern(1<<20+1)
			up := rig.Write(t, filepath.Join(dir, "up"), data)
			for _, scheme := range tt.bases {
				base, down := scheme+s.rdma, filepath.Join(dir, "down")
				file := base + "/export/file"
				for _, args := range [][]string{
					{"put", "-q", up, file},
					{"get", "-q", "--connections", "3", file, down},
					{"ls", base + "/export"},
					{"stat", file},
					{"df", base + "/export"},
					{"conf", base},
					{"ping", "--count", "3", "--interval", "0", base},
					{"ls", "--dialect", "draft", base + "/export"},
					{"ls", base[:strings.LastIndexByte(base, ':')] + "/export?rpcbind=" + port(t, s.rdma)},
					{"rm", file},
				} {
					if code, out, errs := execute(t, args...); code != cli.ExitOK {
						t.Errorf("%q: exit %d: %s%s", args, code, out, errs)
					}
				}
				rig.Holds(t, down, data)
			}
			if code := s.stop(); code != cli.ExitOK {
				t.Errorf("exit %d: %v", code, s.stderr)
			}
		})
	}
}

// TestServeRoCEGreeting: the mount commands for each provider.
func TestServeRoCEGreeting(t *testing.T) {
	s := startRoCE(t, "--provider", "iwarp,sctp,roce", "--sctp-udp", "0", "--memory", "/export")
	host, rdma, _ := net.SplitHostPort(s.rdma)
	mount := "    mount -t nfs -o vers=3,rdma,port=" + rdma + ",mountport=" + port(t, s.tcp) +
		",mountproto=tcp,nolock,noresvport " + host + ":/export /mnt\n"
	want := "\nto mount it from Linux by iWARP:\n" + mount +
		"to mount it from Linux by RoCE, where eth0 is the interface towards this host:\n" +
		"    modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth0\n" + mount +
		"or without RDMA on the client:\n"
	listens := "\nNFS over RDMA (iwarp) on " + s.rdma + "\nNFS over RDMA (roce) on " + s.rdma +
		"\nNFS over RDMA (sctp) on " + s.rdma + ", in UDP port "
	for _, w := range []string{want, listens} {
		if !strings.Contains(s.greeting, w) {
			t.Errorf("no %q in\n%s", w, s.greeting)
		}
	}
	draft := startRoCE(t, "--dialect", "draft", "--memory", "/export")
	if want := "\n    rpcrdma ls --dialect draft rdma+roce://" + draft.rdma + "/export\n"; !strings.Contains(draft.greeting, want) {
		t.Errorf("no %q in\n%s", want, draft.greeting)
	}
}

// TestServeRoCEAllow: a client that is not allowed gets no connection. It is counted and logged.
func TestServeRoCEAllow(t *testing.T) {
	s := startRoCE(t, "--memory", "/export", "--allow", "192.0.2.0/24", "--metrics", "127.0.0.1:0")
	code, _, errs := execute(t, "ls", "rdma+roce://"+s.rdma+"/export")
	if code == cli.ExitOK || !strings.Contains(errs, "rejects the connection") {
		t.Errorf("exit %d: %s", code, errs)
	}
	s.wantExcluded(t)
}

// TestServeRoCELookups: the port for look-ups is there over RoCE, too.
func TestServeRoCELookups(t *testing.T) {
	at := netip.AddrPortFrom(rocerig.Addr(t), 20111).String()
	s := startServe(t, "--provider", "iwarp,roce", "--listen", strings.Replace(at, ":20111", ":0", 1),
		"--rdma-rpcbind", at, "--memory", "/export")
	host, _, _ := net.SplitHostPort(at)
	for _, scheme := range []string{"rdma", "rdma+roce"} {
		url := scheme + "://" + host + "/export?rpcbind=20111"
		if code, out, errs := execute(t, "ls", url); code != cli.ExitOK {
			t.Errorf("%s: exit %d: %s%s", url, code, out, errs)
		}
	}
	if code := s.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
}

// TestServeRoCETaken: another process has the UDP port.
func TestServeRoCETaken(t *testing.T) {
	ip := rocerig.Addr(t)
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, roce.UDPPort)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	at := netip.AddrPortFrom(ip, 20049).String()
	code, _, errs := execute(t, "serve", "--provider", "iwarp,roce", "--listen", at, "--mount", "none", "--memory", "/export")
	want := "rpcrdma: --listen " + at + ": RoCE's UDP port 4791 is taken, by another process or the kernel's rdma_rxe; " +
		reach.PortTaken + ". Or choose another address with --listen, or leave roce out of --provider\n"
	if code != cli.ExitFailed || errs != want {
		t.Errorf("exit %d: %swant %s", code, errs, want)
	}
}

// TestRoCENobody: the server has RoCE, but nothing listens at the port of the service.
func TestRoCENobody(t *testing.T) {
	s := startRoCE(t, "--memory", "/export")
	s2 := strings.TrimSuffix(s.rdma, port(t, s.rdma)) + "1"
	code, _, errs := execute(t, "ls", "rdma+roce://"+s2+"/export")
	if want := ": nothing listens at port " + s2 + ": is NFS over RDMA turned on at the server?"; code != cli.ExitFailed || !strings.Contains(errs, want) {
		t.Errorf("exit %d: %swant %s", code, errs, want)
	}
}

// TestProbeRoCE: the findings for a healthy server.
func TestProbeRoCE(t *testing.T) {
	s := startRoCE(t, "--memory", "/a", "--squash", "none", "--credits", "32")
	mountAs(t, dialTCP(t, s.tcp), 1000, "/a").put(t, "file", rig.Pattern(100_000))
	r := probing{}.of(t, "rdma+roce://"+s.rdma+"/a")
	if !r.OK || len(r.Causes) > 0 {
		t.Errorf("not all is well:\n%s", r.lines())
	}
	for step, values := range map[string]map[string]any{
		"roce":  {"open": "no"},
		"port":  {"speaks": "RoCE"},
		"call":  {"credits": 32.0, "inlineSend": 4096.0, "ird": 16.0, "ord": 16.0},
		"conf":  {"program": 100400.0},
		"mount": {"export": "/a"},
		"read":  {"file": "/a/file", "read": 65536.0},
		"mtu":   {"toServer": 3072.0, "fromServer": true},
	} {
		f := r.find(t, step, probe.OK)
		for k, want := range values {
			if f.Values[k] != want {
				t.Errorf("%s: %s is %v, want %v", step, k, f.Values[k], want)
			}
		}
	}
}

// TestProbeRoCERefused: the server has RoCE, but nothing listens at the port. Probe says nothing
// about MPA.
func TestProbeRoCERefused(t *testing.T) {
	s := startServe(t, "--provider", "roce", "--listen", rocerig.Addr(t).String()+":20049", "--memory", "/a")
	other := strings.Replace(s.rdma, ":20049", ":20050", 1)
	r := probing{}.of(t, "rdma+roce://"+other)
	r.names(t, "port", probe.Fail, probe.CauseRefused)
	for _, f := range r.Findings {
		if f.Step == "mpa" {
			t.Errorf("over RoCE: %+v", f)
		}
	}
}

// TestProbeNoRoCE: the host answers over TCP, but its UDP port 4791 is closed.
func TestProbeNoRoCE(t *testing.T) {
	s := startServe(t, "--listen", rocerig.Addr(t).String()+":0", "--memory", "/a")
	up := func(p *probe.Prober) {
		p.Usual = []reach.Target{{Scheme: "tcp", Host: "127.0.0.1", Port: rdmaAt(t, s.tcp).Port}}
	}
	f := probing{short: true, change: up}.of(t, "rdma+roce://"+s.rdma).names(t, "port", probe.Fail, probe.CauseRefused)
	if !strings.Contains(f.Do, "there is no RoCE: is it turned on at the server") {
		t.Errorf("to do: %s", f.Do)
	}
}

// TestServeMetricsRoCE: a server over RoCE has its metrics.
func TestServeMetricsRoCE(t *testing.T) {
	s := startServe(t, "--provider", "roce", "--listen", rocerig.Addr(t).String()+":0", "--memory",
		"/export", "--metrics", "127.0.0.1:0")
	if code, _, errs := execute(t, "ls", "rdma+roce://"+s.rdma+"/export"); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	_, text := getURL(t, metricsURL(t, s.greeting)+"/metrics")
	wantLines(t, text,
		`rpcrdma_roce_connections_total 1`,
		`rpcrdma_roce_naks_total{direction="sent",reason="error"} 0`,
		`rpcrdma_rdma_connections_total{provider="roce"} 1`)
	if strings.Contains(text, "rpcrdma_iwarp") {
		t.Error("there is no iWARP")
	}
}

// Messages that begin and end a connection of RoCE: base version, class, class version and method,
// and the attribute, behind status, modifier and transaction (IBTA sections 12.6 and 13.4.3).
const (
	connectRequest    = "\x00\x10\x00\x00"
	connectReply      = "\x00\x13\x00\x00"
	disconnectRequest = "\x00\x15\x00\x00"
	disconnectReply   = "\x00\x16\x00\x00"
)

// TestTraceRoCE: the trace of a server, from the request to the end of the connection.
// interop/tshark tests that of a client: in one process, the trace has the end that opened the
// socket.
func TestTraceRoCE(t *testing.T) {
	file := filepath.Join(t.TempDir(), "served")
	s := startRoCE(t, "--memory", "/export", "--trace", file)
	if code, _, errs := execute(t, "ls", "rdma+roce://"+s.rdma+"/export"); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	s.stop()
	has(t, "server", traceOfFile(t, file), connectRequest, connectReply, disconnectRequest, disconnectReply, "/export")
}

// TestGatewayRoCE: a gateway reaches its server over RoCE.
func TestGatewayRoCE(t *testing.T) {
	s := startRoCE(t, "--memory", "/export", "--squash", "none")
	g := startGateway(t, nil, "--to", "rdma+roce://"+s.rdma, "--metrics", "127.0.0.1:0")
	m, data := mountAs(t, dialTCP(t, g.tcp), 0, "/export"), rig.Pattern(3<<20+1)
	if got := m.get(t, m.put(t, "file", data)); !slices.Equal(got, data) {
		t.Errorf("%d bytes came back", len(got))
	}
	_, text := getURL(t, metricsURL(t, g.greeting)+"/metrics")
	if strings.Contains(text, "\nrpcrdma_roce_connections_total 0\n") || !strings.Contains(text, "\nrpcrdma_roce_connections_total ") {
		t.Error("no connection over RoCE is counted")
	}
	if code := g.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, g.stderr)
	}
}

// TestFreeInside: several demos run at a time.
func TestFreeInside(t *testing.T) {
	seen := make(map[netip.Addr]bool)
	for range 4 {
		ip := reach.FreeInside()
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, roce.UDPPort)))
		if err != nil || seen[ip] || !ip.IsLoopback() {
			t.Fatalf("%v: %v", ip, err)
		}
		defer c.Close()
		seen[ip] = true
	}
}

// TestRoCEURLs parses URLs of servers over RoCE.
func TestRoCEURLs(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"rdma+roce://h/a", "rdma+roce://h/a"},
		{"RDMA+RoCE://h:20049/a", "rdma+roce://h/a"},
		{"rdma+roce://[2001:db8::1]:1/a?rpcbind=2", "the URL names port 1 and asks rpcbind for the port"},
		{"rdma+roce://h/a?rpcbind&mountport=3", "rdma+roce://h/a?mountport=3&rpcbind"},
		{"rdma+roce://h/a?udp=2", "udp=N is for rdma+sctp://"},
		{"rdma+roce://h/a?tls", "tls is for tcp://"},
		{"roce://h/a", "unknown scheme roce: write rdma://, rdma+roce://, rdma+sctp://, tcp:// or nfs://"},
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
