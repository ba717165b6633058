package main

import (
	"context"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/gateway"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// TestGatewayCommandLine: invalid command lines, and their messages.
func TestGatewayCommandLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		args string
		code int
		say  string
	}{
		{"", cli.ExitUsage, "no server: name it with --to rdma://HOST"},
		{"rdma://host", cli.ExitUsage, `unknown argument "rdma://host": the server is named with --to`},
		{"--nonsense", cli.ExitUsage, "unknown flag: --nonsense"},
		{"--to host", cli.ExitUsage, "--to host: not a URL: write rdma://HOST[:PORT]\n"},
		{"--to tcp://host", cli.ExitUsage, "--to tcp://host/: clients reach a server over TCP without a gateway; write rdma://HOST"},
		{"--to rdma://host:99999", cli.ExitUsage, "99999 is not a port"},
		{"--to rdma://host/export", cli.ExitUsage, "--to rdma://host/export: a gateway leads to a server, not to a path: write rdma://host\n"},
		{"--to rdma://host --mount-to host", cli.ExitUsage, "--mount-to host: not a URL: write tcp://HOST[:PORT]\n"},
		{"--to rdma://host --mount-to tcp://host/export", cli.ExitUsage, "--mount-to tcp://host/export: a gateway leads to a server"},
		{"--to rdma://host --mount-to tcp://host?mountport=892", cli.ExitUsage, "--mount-to: write the port after the host: tcp://HOST:PORT"},
		{"--to rdma://host?mountport=892 --mount-to tcp://host", cli.ExitUsage, "--mount-to and mountport both name MOUNT"},
		{"--to rdma://host --listen 2049", cli.ExitUsage, `--listen "2049": write HOST:PORT`},
		{"--to rdma://host --max-reply 1KiB", cli.ExitUsage, "--max-reply 1KiB: write a size from 64KiB to 64MiB"},
		{"--to rdma://host --max-reply 65MiB", cli.ExitUsage, "--max-reply 65MiB: "},
		{"--to rdma://host --inline 1500", cli.ExitUsage, `invalid argument "1500" for "--inline" flag`},
		{"--to rdma://host --credits 0", cli.ExitUsage, `invalid argument "0" for "--credits" flag`},
		{"--to rdma://host --crc maybe", cli.ExitUsage, `invalid argument "maybe" for "--crc" flag: write one of auto, on, off`},
		{"--to rdma://host --allow nonsense", cli.ExitUsage, `invalid argument "nonsense" for "--allow" flag`},
		{"--to rdma://host --listen " + taken.Addr().String(), cli.ExitFailed, "address already in use; another server may have it: choose another port with --listen"},
	} {
		code, stdout, stderr := execute(t, append([]string{"gateway"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.say) {
			t.Errorf("%.100q: exit %d, want %d: %swant %q", tt.args, code, tt.code, stderr, tt.say)
		}
		if stdout != "" {
			t.Errorf("%.100q: on standard output: %s", tt.args, stdout)
		}
	}
}

// gatewayLine is the line of the greeting with the address.
var gatewayLine = regexp.MustCompile(`(?m)^gateway to (\S+), over TCP on (\S+)$`)

// startGateway runs gateway on a port of its own choice until the test or stop ends it.
func startGateway(t *testing.T, dial serve.RPCBindDialer, args ...string) *serveCommand {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &serveCommand{stdout: newTranscript(), stderr: newTranscript(), cancel: cancel,
		over: make(chan struct{})}
	cmd := gateway.CommandFor(gateway.NewConfig(dial))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, args...))
	cmd.SetOut(s.stdout)
	cmd.SetErr(s.stderr)
	go func() {
		defer close(s.over)
		if err := cmd.ExecuteContext(ctx); err != nil {
			s.code = cli.ExitFailed
			s.stderr.Write([]byte(err.Error()))
		}
	}()
	t.Cleanup(func() { s.stop() })
	s.greeting = s.stdout.await("/mnt\n", s.over)
	m := gatewayLine.FindStringSubmatch(s.greeting)
	if m == nil {
		t.Fatalf("no address in %q; on standard error: %v", s.greeting, s.stderr)
	}
	s.tcp = m[2]
	return s
}

// TestGateway: a session over TCP with a server over RDMA, look-ups of rpcbind at the same port,
// and an orderly end.
func TestGateway(t *testing.T) {
	server := startServe(t, "--memory", "/export", "--squash", "none")
	g := startGateway(t, nil, "--to", "rdma://"+server.rdma)
	_, port, _ := net.SplitHostPort(g.tcp)
	if want := "mount -t nfs -o vers=3,tcp,port=" + port + ",mountport=" + port + ",mountproto=tcp,nolock 127.0.0.1:/EXPORT /mnt\n"; !strings.HasSuffix(g.greeting, want) {
		t.Errorf("no %q in\n%s", want, g.greeting)
	}
	conn := dialTCP(t, g.tcp)
	m := mountAs(t, conn, 0, "/export")
	data := rig.Pattern(3<<20 + 1)
	h := m.put(t, "file", data)
	if got := m.get(t, h); !slices.Equal(got, data) {
		t.Errorf("got %d bytes, want the %d that were written", len(got), len(data))
	}
	at, err := rpcbind.NewClient(dialTCP(t, g.tcp)).GetAddr(t.Context(),
		rpcbind.Mapping{Program: nfs3.Program, Version: nfs3.Version, Netid: rpcbind.NetidTCP})
	if err != nil || at != universal(t, g.tcp) {
		t.Errorf("the port of NFS: got %s, %v, want %s", at, err, universal(t, g.tcp))
	}
	if code := g.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, g.stderr)
	}
	log := g.stderr.String()
	for _, want := range []string{`msg=drained`, `failed=0 `, `rdma\.read_chunk=31\d{5} `, `rdma\.write_chunk=31\d{5} `} {
		if !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
}

// TestGatewayMountTo: MOUNT goes where --mount-to says.
func TestGatewayMountTo(t *testing.T) {
	nfs, mount := startServe(t, "--memory", "/nfs"), startServe(t, "--memory", "/mount")
	for _, args := range [][]string{
		{"--to", "rdma://" + nfs.rdma, "--mount-to", "tcp://" + mount.tcp},
		{"--to", "rdma://" + nfs.rdma, "--mount-to", "rdma://" + mount.rdma},
		{"--to", "rdma://" + nfs.rdma + "?mountport=" + mount.tcp[strings.LastIndex(mount.tcp, ":")+1:]},
	} {
		g := startGateway(t, nil, args...)
		exports, err := nfsclient.Exports(t.Context(), dialTCP(t, g.tcp), oncrpc.AuthNone())
		if err != nil || len(exports) != 1 || exports[0].Path != "/mount" {
			t.Errorf("%q: got %v, %v", args, exports, err)
		}
		if !strings.Contains(g.greeting, "MOUNT goes to ") {
			t.Errorf("%q: %s", args, g.greeting)
		}
	}
}

// TestGatewayMountToItself: the gateway does not call itself.
func TestGatewayMountToItself(t *testing.T) {
	server := startServe(t, "--memory", "/export")
	for _, listen := range []string{"127.0.0.1", ""} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		l.Close() // for the gateway
		g := startGateway(t, nil, "--listen", listen+":"+port, "--to", "rdma://"+server.rdma,
			"--mount-to", "tcp://127.0.0.1:"+port)
		conn := dialTCP(t, "127.0.0.1:"+port)
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error, 1)
		go func() {
			c := oncrpc.NewClient(conn, mount3.Program, mount3.Version, oncrpc.AuthNone())
			answer <- c.Call(ctx, 0, nil, nil)
		}()
		g.stderr.await("is the gateway itself", g.over)
		cancel()
		if err := <-answer; err == nil {
			t.Error("a call was answered")
		}
		if code := g.stop(); code != cli.ExitOK || strings.Count(g.stderr.String(), "is the gateway itself") != 1 {
			t.Errorf("exit %d: %s", code, g.stderr)
		}
	}
}

// TestGatewayProbe: the gateway logs a missing server at once, without any client.
func TestGatewayProbe(t *testing.T) {
	server := startServe(t, "--memory", "/export")
	for _, tt := range []struct{ to, want string }{
		{"rdma://" + server.tcp, "does not speak NFS over RDMA"},
		{"rdma://127.0.0.1:1", "nothing listens at port 127.0.0.1:1"},
	} {
		g := startGateway(t, nil, "--to", tt.to)
		if log := g.stderr.await("does not answer", g.over); !strings.Contains(log, tt.want) {
			t.Errorf("--to %s: no %q in\n%s", tt.to, tt.want, log)
		}
		if code := g.stop(); code != cli.ExitOK {
			t.Errorf("exit %d", code)
		}
	}
}

// TestGatewayMaxReply: replies of odd lengths fit, and the largest ones with the smallest messages.
func TestGatewayMaxReply(t *testing.T) {
	server := startServe(t, "--memory", "/export")
	for _, args := range []string{"--max-reply 5000001", "--max-reply 64MiB --inline 1KiB"} {
		g := startGateway(t, nil, append(strings.Fields(args), "--to", "rdma://"+server.rdma)...)
		exports, err := nfsclient.Exports(t.Context(), dialTCP(t, g.tcp), oncrpc.AuthNone())
		if err != nil || len(exports) != 1 {
			t.Errorf("%s: got %v, %v", args, exports, err)
		}
	}
}

// TestGatewayAllow: a client that --allow does not name is disconnected, and logged once.
func TestGatewayAllow(t *testing.T) {
	server := startServe(t, "--memory", "/export")
	null := func(g *serveCommand) error {
		conn, err := recordmark.Dial(t.Context(), g.tcp, recordmark.Config{})
		if err != nil {
			return err
		}
		defer reach.End(conn)
		return nfsclient.New(conn, oncrpc.AuthNone()).Null(t.Context())
	}
	refused := startGateway(t, nil, "--to", "rdma://"+server.rdma, "--allow", "192.0.2.0/24",
		"--allow", "2001:db8::1")
	if !strings.Contains(refused.greeting, "\nfor clients of 192.0.2.0/24 2001:db8::1/128\n") {
		t.Error(refused.greeting)
	}
	for range 3 {
		if err := null(refused); err == nil {
			t.Error("a client was not refused")
		}
	}
	if code := refused.stop(); code != cli.ExitOK || strings.Count(refused.stderr.String(), "refused a client") != 1 {
		t.Errorf("exit %d: %s", code, refused.stderr)
	}
	admitted := startGateway(t, nil, "--to", "rdma://"+server.rdma, "--allow", "127.0.0.0/8")
	if err := null(admitted); err != nil {
		t.Error(err)
	}
	open := startGateway(t, nil, "--to", "rdma://"+server.rdma, "--listen", ":0")
	for g, want := range map[*serveCommand]bool{admitted: false, open: true} {
		if got := strings.Contains(g.stderr.String(), "whoever reaches this port"); got != want {
			t.Errorf("a warning: %v, want %v", got, want)
		}
	}
}

// TestGatewayRPCBind: NFS and MOUNT are registered at the gateway's port while it runs.
func TestGatewayRPCBind(t *testing.T) {
	p := newFakeRpcbind(t)
	g := startGateway(t, p.dial, "--to", "rdma://127.0.0.1:9", "--rpcbind")
	if want := "\nregistered with rpcbind for tcp\n"; !strings.Contains(g.greeting, want) {
		t.Errorf("no %q in\n%s", want, g.greeting)
	}
	if got, want := p.registered(), []string{"100003.3 tcp " + universal(t, g.tcp), "100005.3 tcp " + universal(t, g.tcp)}; !slices.Equal(got, want) {
		t.Errorf("registered %v, want %v", got, want)
	}
	if code := g.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, g.stderr)
	}
	if got := p.registered(); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// TestGatewayNoServer: a gateway without its server logs that once, and goes on. Clients' calls
// wait on their connections, and are answered when the server comes.
func TestGatewayNoServer(t *testing.T) {
	server := startServe(t, "--memory", "/export")
	server.stop()
	g := startGateway(t, nil, "--to", "rdma://"+server.rdma)
	answers := make(chan error)
	const clients = 3
	for range clients {
		conn := dialTCP(t, g.tcp)
		go func() {
			c := oncrpc.NewClient(conn, mount3.Program, mount3.Version, oncrpc.AuthNone())
			answers <- c.Call(context.Background(), 0, nil, nil)
		}()
	}
	g.stderr.await("cannot connect to the server; calls wait until that succeeds", g.over)
	startServe(t, "--memory", "/export", "--listen", server.rdma)
	for i := range clients {
		select {
		case err := <-answers:
			if err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d calls of %d were not answered for 30 s", clients-i, clients)
		}
	}
	if code := g.stop(); code != cli.ExitOK || strings.Count(g.stderr.String(), "cannot connect to the server") != 1 {
		t.Errorf("exit %d: %s", code, g.stderr)
	}
}
