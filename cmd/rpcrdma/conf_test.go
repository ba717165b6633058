package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestConf: answers of servers, and how conf shows them.
func TestConf(t *testing.T) {
	for _, tt := range []struct{ serve, conf, want string }{
		{"", "", `@ answers CONF_RDMA as program 100400
at setup it sends private data of RFC 8797

                setup asked answered in force
largest call     4096 65536     4096     4096
largest reply    4096 65536        -    65536
reads at server    16     -       16       16
reads at client    16    16        -       16
alignment           -     -        0        0
`},
		{"--dialect draft --inline 16KiB --align 4KiB", "--call 8KiB --reply 2KiB --program rfc5666", `@ answers CONF_RDMA as program 100417
at setup it sends private data of RFC 8797

                setup asked answered in force
largest call     8192  8192    16384    16384
largest reply    2048  2048        -     2048
reads at server    16     -       16       16
reads at client    16    16        -       16
alignment           -     -     4096     4096
`},
		{"--conf sys --inline 1024", "--uid 7", `@ answers CONF_RDMA as program 100400
at setup it sends private data of RFC 8797

                setup asked answered in force
largest call     1024 65536     1024     1024
largest reply    1024 65536        -    65536
reads at server    16     -       16       16
reads at client    16    16        -       16
alignment           -     -        0        0
`},
		{"--conf off", "", `@ has no CONF_RDMA: no program 100400, nor 100417
at setup it sends private data of RFC 8797

                setup
largest call     4096
largest reply    4096
reads at server    16
reads at client    16
`},
		{"--conf off", "--program draft", `@ has no CONF_RDMA: no program 100400
at setup it sends private data of RFC 8797

                setup
largest call     4096
largest reply    4096
reads at server    16
reads at client    16
`},
	} {
		r := startRig(t, strings.Fields(tt.serve)...)
		got := r.exec(t, "rdma", append(append([]string{"conf"}, strings.Fields(tt.conf)...), "@/")...)
		if got.code != cli.ExitOK || got.stdout != tt.want || got.stderr != "" {
			t.Errorf("serve %s, conf %s: exit %d\n%s%swant\n%s", tt.serve, tt.conf, got.code, got.stdout, got.stderr, tt.want)
		}
	}
}

// TestConfWithoutPrivateData: a server without private data at setup.
func TestConfWithoutPrivateData(t *testing.T) {
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: reach.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: reach.Quiet})
	srv.Handle(confproto.New(confproto.Config{MaxCall: 8192}))
	served := make(chan error, 1)
	go func() {
		served <- rpcrdma.Serve(t.Context(), l, srv, rpcrdma.Config{Logger: reach.Quiet, NoPrivateData: true})
	}()
	defer func() {
		srv.Close()
		<-served
	}()
	const want = `@ answers CONF_RDMA as program 100400
at setup it sends no private data of RFC 8797

                setup asked answered in force
largest call     1024 65536     8192     8192
largest reply    1024 65536        -    65536
reads at server    16     -       16       16
reads at client    16    16        -       16
alignment           -     -        0        0
`
	url := "rdma://" + l.Addr().String()
	code, stdout, stderr := execute(t, "conf", url)
	if stdout = strings.ReplaceAll(stdout, url, "@"); code != cli.ExitOK || stdout != want || stderr != "" {
		t.Errorf("exit %d\n%s%swant\n%s", code, stdout, stderr, want)
	}
}

// TestConfOfOthers: conf shows the answers of other implementations as they came, and the settings
// that result.
func TestConfOfOthers(t *testing.T) {
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: reach.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	answer := confproto.Reply{MaxCallSendSize: 100_000, Align: 768, MaxRDMARead: 3}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: reach.Quiet})
	srv.Handle(oncrpc.Program{Number: confproto.Program, Version: confproto.Version, Procedures: []oncrpc.Procedure{
		confproto.ProcConfigure: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			answer.MarshalXDR(c.Results)
			return nil
		}},
	}})
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(t.Context(), l, srv, rpcrdma.Config{Logger: reach.Quiet}) }()
	defer func() {
		srv.Close()
		<-served
	}()
	const want = `@ answers CONF_RDMA as program 100400
at setup it sends private data of RFC 8797

                setup asked answered in force
largest call     4096  4096   100000    65536
largest reply    2048  2048        -     2048
reads at server    16     -        3        3
reads at client    16    16        -       16
alignment           -     -      768        0
`
	url := "rdma://" + l.Addr().String()
	code, stdout, stderr := execute(t, "conf", "--call", "4KiB", "--reply", "2KiB", url)
	if stdout = strings.ReplaceAll(stdout, url, "@"); code != cli.ExitOK || stdout != want || stderr != "" {
		t.Errorf("exit %d\n%s%swant\n%s", code, stdout, stderr, want)
	}
}

// serveConf serves only CONF_RDMA, until the test ends.
func serveConf(t *testing.T, cfg confproto.Config) (addr string) {
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: reach.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: reach.Quiet})
	srv.Handle(confproto.New(cfg))
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(t.Context(), l, srv, rpcrdma.Config{Logger: reach.Quiet}) }()
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return l.Addr().String()
}

// TestConfErrors: failures, and invalid command lines.
func TestConfErrors(t *testing.T) {
	denying := serveConf(t, confproto.Config{Clients: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	other := startServe(t, "--memory", "/m")
	gone := startServe(t, "--memory", "/m")
	gone.stop()
	for _, tt := range []struct {
		args string
		code int
		say  string
	}{
		{"rdma://" + denying, cli.ExitFailed,
			"has CONF_RDMA, but denies it to this caller: AUTH_TOOWEAK; --conf of rpcrdma serve says who may use it: try ?sec=krb5\n"},
		{"rdma://" + gone.rdma, cli.ExitFailed,
			"rpcrdma: nothing listens at port " + gone.rdma + ": is NFS over RDMA turned on at the server? The option ?rpcbind in the URL asks for its port\n"},
		{"rdma://" + other.tcp, cli.ExitFailed,
			"rpcrdma: port " + other.tcp + " does not speak NFS over RDMA (iWARP): write the port that does, or ?rpcbind to find it\n"},
		{"rdma://127.0.0.1?rpcbind=" + port(t, gone.rdma), cli.ExitFailed, "; write the port, such as rdma://127.0.0.1:20049\n"},
		{"", cli.ExitUsage, "no URL: write rdma://HOST\n"},
		{"rdma://a rdma://b", cli.ExitUsage, `unknown argument "rdma://b": one server at a time`},
		{"host", cli.ExitUsage, "host: not a URL: write rdma://HOST\n"},
		{"rdma://", cli.ExitUsage, "no host: write rdma://HOST\n"},
		{"nfs://host", cli.ExitUsage, "nfs://host: CONF_RDMA is for connections over RDMA: write rdma://HOST\n"},
		{"tcp://host", cli.ExitUsage, "tcp://host: CONF_RDMA is for connections over RDMA: write rdma://HOST"},
		{"rdma://host/export", cli.ExitUsage, "rdma://host/export: conf takes a server, not a file: write rdma://host\n"},
		{"rdma://host/export?rpcbind", cli.ExitUsage, "conf takes a server, not a file: write rdma://host?rpcbind\n"},
		{"rdma://host?mountport=5", cli.ExitUsage, "mountport is only for commands on files: write rdma://host\n"},
		{"rdma://host:700?mountport=5", cli.ExitUsage, "write rdma://host:700\n"},
		{"rdma://host?rpcbind=7&mountport=5", cli.ExitUsage, "write rdma://host?rpcbind=7\n"},
		{"--program 100400 rdma://host", cli.ExitUsage, `write one of both, draft, rfc5666`},
		{"--call 1000 rdma://host", cli.ExitUsage, "write a multiple of 1KiB up to 64KiB"},
		{"--reply 65KiB rdma://host", cli.ExitUsage, "write a multiple of 1KiB up to 64KiB"},
	} {
		code, stdout, stderr := execute(t, append([]string{"conf"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stderr, tt.say) || stdout != "" {
			t.Errorf("%q: exit %d, want %d: %s%swant %q", tt.args, code, tt.code, stdout, stderr, tt.say)
		}
	}
}

// TestDraft: commands and gateway work in the draft's dialect, with and without CONF_RDMA at the
// server.
func TestDraft(t *testing.T) {
	data := string(rig.Pattern(300_001))
	for _, args := range []string{"--inline 16384 --align 4096", "--conf off", "--conf sys --credits 1"} {
		r := startRig(t, append([]string{"--dialect", "draft"}, strings.Fields(args)...)...)
		dir := t.TempDir()
		want := map[string]string{"long": data, "short": data[:6000]}
		for name, data := range want {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := r.exec(t, "rdma", "put", "--dialect", "draft", "--inline", "16KiB", filepath.Join(dir, name), "@/memory/"+name); got.code != cli.ExitOK {
				t.Fatalf("serve %s: put %s: %+v", args, name, got)
			}
		}
		g := startGateway(t, nil, "--to", r.base("rdma"), "--dialect", "draft")
		for name, data := range want {
			if got := r.exec(t, "rdma", "cat", "--dialect", "draft", "@/memory/"+name); got.code != cli.ExitOK || got.stdout != data {
				t.Errorf("serve %s: cat %s: exit %d, %d bytes, %s", args, name, got.code, len(got.stdout), got.stderr)
			}
			if code, stdout, stderr := execute(t, "cat", "tcp://"+g.tcp+"/memory/"+name); code != cli.ExitOK || stdout != data {
				t.Errorf("serve %s: cat %s through the gateway: exit %d, %d bytes, %s", args, name, code, len(stdout), stderr)
			}
		}
	}
}

// TestOtherDialect: the messages of a command whose dialect is not that of the server, where it
// matters.
func TestOtherDialect(t *testing.T) {
	r := startRig(t, "--dialect", "draft")
	dir := t.TempDir()
	name := filepath.Join(dir, "odd")
	if err := os.WriteFile(name, rig.Pattern(50_001), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := r.exec(t, "rdma", "put", name, "@/memory/odd"); got.code != cli.ExitOK {
		t.Fatalf("put: %+v", got)
	}
	// READs whose length is not a multiple of four, so that they need padding.
	got := r.exec(t, "rdma", "get", "--size", "4099", "@/memory/odd", filepath.Join(dir, "back"))
	if want := ": round-up counted in a write chunk: the peer speaks the draft's dialect\n"; got.code != cli.ExitFailed || !strings.HasSuffix(got.stderr, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
	if got := r.exec(t, "rdma", "get", "--dialect", "draft", "--size", "4099", "@/memory/odd", filepath.Join(dir, "back")); got.code != cli.ExitOK {
		t.Errorf("in the server's dialect: %+v", got)
	}
}

// TestDraftGreeting: the greeting has no RDMA mount command that Linux cannot use.
func TestDraftGreeting(t *testing.T) {
	s := startServe(t, "--memory", "/m", "--dialect", "draft")
	_, port, _ := net.SplitHostPort(s.tcp)
	want := "to reach it over RDMA:\n    rpcrdma ls --dialect draft rdma://" + s.rdma + "/m\n" +
		"to mount it from Linux, over TCP (over RDMA it needs serve --dialect rfc8166):\n" +
		"    mount -t nfs -o vers=3,tcp,port=" + port + ",mountport=" + port + ",mountproto=tcp,nolock 127.0.0.1:/m /mnt\n"
	if !strings.HasSuffix(s.greeting, want) {
		t.Errorf("got\n%swant at the end\n%s", s.greeting, want)
	}
	s = startServe(t, "--memory", "/m", "--dialect", "draft", "--mount", "none")
	if want := "over TCP it needs --mount, which is none\n"; !strings.HasSuffix(s.greeting, want) {
		t.Errorf("got\n%swant at the end\n%s", s.greeting, want)
	}
}

// TestConfLogged: at level debug, the server's log says for each connection what CONF_RDMA has
// agreed on.
func TestConfLogged(t *testing.T) {
	for level, want := range map[string]string{
		"debug": `level=DEBUG msg="confproto: CONF_RDMA" peer=127\.0\.0\.1:\d+ max_call=16384 max_reply=8192 reads=16 peer_reads=16 align=4096` + "\n",
		"info":  "",
	} {
		s := startServe(t, "--memory", "/m", "--dialect", "draft", "--inline", "16KiB", "--align", "4KiB", "--log-level", level)
		for dialect, want := range map[string]string{"draft": want, "rfc8166": ""} {
			before := len(s.stderr.String())
			if code, _, stderr := execute(t, "ls", "--dialect", dialect, "--inline", "8KiB", "rdma://"+s.rdma+"/m"); code != cli.ExitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			var got []string
			for line := range strings.Lines(s.stderr.String()[before:]) {
				if strings.Contains(line, "CONF_RDMA") {
					got = append(got, line)
				}
			}
			if want == "" && got != nil || want != "" && (len(got) != 1 || !regexp.MustCompile(want).MatchString(got[0])) {
				t.Errorf("level %s, ls --dialect %s: got %q, want %q", level, dialect, got, want)
			}
		}
	}
}

// TestDialIWARP: connections of the draft's dialect are configured, and others are not.
func TestDialIWARP(t *testing.T) {
	draft := startServe(t, "--memory", "/m", "--dialect", "draft", "--inline", "16384", "--align", "4096", "--conf", "sys")
	none := startServe(t, "--memory", "/m", "--dialect", "draft", "--conf", "off")
	other := startServe(t, "--memory", "/m", "--inline", "16384")
	self := remote.Identity{}
	cred, err := self.Cred()
	if err != nil {
		t.Fatal(err)
	}
	const size = 8192
	for _, tt := range []struct {
		name    string
		addr    string
		dialect rpcrdma.Dialect
		cred    oncrpc.ClientFlavor
		want    rpcrdma.Settings
	}{
		{"configured", draft.rdma, rpcrdma.Draft, cred, rpcrdma.Settings{MaxSend: 16384, MaxRecv: size, PeerAlign: 4096}},
		{"denied", draft.rdma, rpcrdma.Draft, oncrpc.AuthNone(), rpcrdma.Settings{MaxSend: size, MaxRecv: size}},
		{"unavailable", none.rdma, rpcrdma.Draft, cred, rpcrdma.Settings{MaxSend: 4096, MaxRecv: 4096}},
		{"not asked", other.rdma, rpcrdma.RFC8166, cred, rpcrdma.Settings{MaxSend: size, MaxRecv: size}},
	} {
		conn, err := reach.DialOverRDMA(t.Context(), rdmaAt(t, tt.addr), reach.RDMAConfig{Log: reach.Quiet},
			rpcrdma.Config{Logger: reach.Quiet, Dialect: tt.dialect, InlineSend: size, InlineRecv: size, Credits: 1000}, tt.cred)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		tt.want.Reads, tt.want.PeerReads = 16, 16
		// as at setup
		tt.want.MaxCallRecv, tt.want.MaxReplySend = min(size, tt.want.MaxSend), min(size, tt.want.MaxSend)
		if got := conn.(*rpcrdma.Conn).Settings(); got != tt.want {
			t.Errorf("%s: in force is %+v, want %+v", tt.name, got, tt.want)
		}
		reach.End(conn)
	}
}

// TestRecvDepth: rpcrdma has as many credits as were asked for.
func TestRecvDepth(t *testing.T) {
	s := startServe(t, "--memory", "/m", "--dialect", "draft", "--credits", "4096")
	conn, err := reach.DialOverRDMA(t.Context(), rdmaAt(t, s.rdma), reach.RDMAConfig{Log: reach.Quiet}, rpcrdma.Config{Logger: reach.Quiet, Dialect: rpcrdma.Draft, Credits: 4096}, oncrpc.AuthNone())
	if err != nil {
		t.Fatal(err)
	}
	defer reach.End(conn)
	if grant, _, _ := conn.(*rpcrdma.Conn).Credits(); grant != 4096 {
		t.Errorf("got %d credits, want 4096", grant)
	}
}

// TestGatewayKeepsConf: clients of a gateway do not configure its connection to the server.
func TestGatewayKeepsConf(t *testing.T) {
	server := startServe(t, "--memory", "/m")
	g := startGateway(t, nil, "--to", "rdma://"+server.rdma)
	conn := dialTCP(t, g.tcp)
	for _, program := range []uint32{confproto.Program, confproto.ProgramRFC5666} {
		c := oncrpc.NewClient(conn, program, confproto.Version, oncrpc.AuthNone())
		for procedure, args := range []oncrpc.Marshaler{0: nil, confproto.ProcConfigure: &confproto.Request{MaxReplySendSize: 65536}} {
			var accept *oncrpc.AcceptError
			if err := c.Call(t.Context(), uint32(procedure), args, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.ProgUnavail {
				t.Errorf("%d.%d: got %v, want PROG_UNAVAIL", program, procedure, err)
			}
		}
	}
}
