package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// TestExplain: advice about errors of connecting.
func TestExplain(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: words.ConnRefused}
	startup := func(err error) error { return &transport.OpError{Op: "dial", Err: &mpa.StartupError{Err: err}} }
	roceFailed := func(err error) error { return &transport.OpError{Op: "dial", Provider: "roce", Err: err} }
	const noRoCE = "no answer from h:20049 over RoCE: is the host up, does it have RoCE (rpcrdma serve --provider roce, rdma_rxe of " +
		"Linux, an adapter), and does UDP port 4791 pass, without NAT?"
	plain := errors.New("something else")
	tests := []struct {
		name string
		url  string
		err  error
		want string // "": the error itself
	}{
		{"refused, RDMA", "rdma://h", refused, "nothing listens at port h:20049: is NFS over RDMA turned on at the server? " +
			"The option ?rpcbind in the URL asks for its port. Over TCP, try tcp://h for rpcrdma serve, or tcp://h:2049 for Linux"},
		{"refused, TCP", "tcp://[::1]", refused, "nothing listens at port [::1]:20048: try tcp://[::1]:2049 or, over RDMA, rdma://[::1]"},
		{"refused, Linux's port", "tcp://h:2049", refused, "nothing listens at port h:2049: is the NFS server running? rpcrdma serve is usually at tcp://h"},
		{"no such host", "rdma://h", &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}, "there is no host h"},
		{"no name service", "rdma://h", &net.DNSError{Err: "server misbehaving", Name: "h"},
			"cannot look up host h: server misbehaving; is the name right? An IP address needs no look-up"},
		{"no network", "rdma://192.0.2.1", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", words.ErrPipe)},
			"cannot connect to port 192.0.2.1:20049: " + words.ErrPipe.Error() + "; is the address right, and the network up?"},
		{"broken when connected", "rdma://h", &net.OpError{Op: "read", Err: os.NewSyscallError("read", plain)}, ""},
		{"no answer", "rdma://h", fmt.Errorf("dial: %w", context.DeadlineExceeded),
			"port h:20049 takes connections, but does not answer: does the server hang, or is this the port of another service?"},
		{"no connection", "rdma://h", &net.OpError{Op: "dial", Err: context.DeadlineExceeded},
			"no answer from port h:20049: is the host up, is a firewall in between, or is the server too busy to take connections?"},
		{"refused, RoCE", "rdma+roce://h", roceFailed(roce.ErrRefused), "nothing listens at port h:20049: is NFS over RDMA turned on at the server? " +
			"The option ?rpcbind in the URL asks for its port. Over TCP, try tcp://h for rpcrdma serve, or tcp://h:2049 for Linux"},
		{"no answer, RoCE", "rdma+roce://h", roceFailed(roce.ErrPeerTimeout), noRoCE},
		{"closed, RoCE", "rdma+roce://h", roceFailed(roce.ErrNoRoCE), "no RoCE at h, where UDP port 4791 is closed: " +
			"is it turned on there (rpcrdma serve --provider iwarp,roce, rdma_rxe of Linux, an adapter)?"},
		{"no time, RoCE", "rdma+roce://h", roceFailed(context.DeadlineExceeded), noRoCE},
		{"RoCE's port taken", "rdma+roce://h", roceFailed(roce.ErrPortTaken),
			"RoCE needs UDP port 4791 of this host, which is taken: 'rdma link' shows whether the kernel's rdma_rxe has it " +
				"('rdma link delete' ends that), and 'ss -ulnp' which process has it; reach a server of this host at 127.0.0.1"},
		{"not iWARP", "rdma://h:2049", startup(fmt.Errorf("%w: %w", mpa.ErrFrame, mpa.ErrNotMPA)),
			"port h:2049 does not speak NFS over RDMA (iWARP); if it speaks TCP, write tcp://h:2049"},
		{"not iWARP, which hangs up", "rdma://h:2049", startup(io.EOF),
			"port h:2049 does not speak NFS over RDMA (iWARP); if it speaks TCP, write tcp://h:2049"},
		{"not iWARP, which hangs up hard", "rdma://h", startup(words.ConnReset),
			"port h:20049 does not speak NFS over RDMA (iWARP); if it speaks TCP, write tcp://h:20049"},
		{"not TCP", "tcp://h:20049", &recordmark.OpError{Op: "read", Err: recordmark.ErrClosedByPeer},
			"the server at port h:20049 ends the connection at the first call; if it speaks RDMA, write rdma://h"},
		{"a web server", "tcp://h:80", &recordmark.OpError{Op: "read", Err: recordmark.ErrRecordTooLong},
			"port h:80 answers, but not in RPC: it belongs to another service; " +
				"write ?rpcbind in place of the port to find that of NFS"},
		{"another program", "tcp://h", &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail},
			"port h:20048 is not the port of NFS: it answers PROG_UNAVAIL; NFS is usually at tcp://h:2049; write ?rpcbind in place of the port to find it"},
		{"another program over RDMA", "rdma://h", &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail},
			"port h:20049 is not the port of NFS: it answers PROG_UNAVAIL; write ?rpcbind in place of the port to find it"},
		{"other versions", "tcp://h:2049", &oncrpc.AcceptError{Stat: oncrpc.ProgMismatch, Low: 4, High: 4},
			"the server at port h:2049 has NFS versions 4 to 4, but not 3"},
		{"denied", "tcp://h:2049", &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak},
			"the server at port h:2049 denies calls with these credentials: AUTH_TOOWEAK"},
		{"no answer of rpcbind", "rdma://h?rpcbind", context.DeadlineExceeded,
			"no answer from rpcbind at port h:111: is the host up, is a firewall in between, or does rpcbind hang? Or write the port, such as rdma://h:20049"},
		{"not found", "rdma://h?rpcbind", &rpcbind.FindError{Tried: []rpcbind.Attempt{
			{Place: "TCP", Err: rpcbind.ErrNotRegistered}, {Place: "RDMA", Err: refused}}},
			"h does not say at which port NFS over RDMA is: TCP: not registered; RDMA: " + words.ConnRefused.Error() + "; write the port, such as rdma://h:20049"},
		{"no host to ask", "tcp://h?rpcbind", &rpcbind.FindError{Tried: []rpcbind.Attempt{{Err: &net.DNSError{Name: "h", IsNotFound: true}}}},
			"there is no host h"},
		{"anything else", "tcp://h", plain, ""},
	}
	for _, tt := range tests {
		target, err := reach.ParseTarget(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got := words.Explainer{Asked: target.Rpcbind != 0}.Explain(target, tt.err)
		if !errors.Is(got, tt.err) {
			t.Errorf("%s: %v does not wrap %v", tt.name, got, tt.err)
		}
		want := tt.want
		if want == "" {
			want = tt.err.Error()
		}
		if got.Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", tt.name, got, want)
		}
	}
}

// TestExplainFound: no advice to do what was done, or what is impossible, for a server found by
// rpcbind or over RDMA alone.
func TestExplainFound(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: words.ConnRefused}
	notMPA := &transport.OpError{Op: "dial", Err: &mpa.StartupError{Err: mpa.ErrNotMPA}}
	unavail := &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail}
	for _, tt := range []struct {
		name string
		x    words.Explainer
		err  error
		want string
	}{
		{"refused, named", words.Explainer{Asked: true}, refused, "nothing listens at port h:700, which rpcbind names for NFS over RDMA: " +
			"is the server still running, and does it listen at this address? Over TCP, try tcp://h for rpcrdma serve, or tcp://h:2049 for Linux"},
		{"refused, named, RDMA alone", words.Explainer{Asked: true, RDMAOnly: true}, refused, "nothing listens at port h:700, which rpcbind names for NFS over RDMA: " +
			"is the server still running, and does it listen at this address?"},
		{"refused, RDMA alone", words.Explainer{RDMAOnly: true}, refused, "nothing listens at port h:700: is NFS over RDMA turned on at the server? " +
			"The option ?rpcbind in the URL asks for its port"},
		{"not iWARP, RDMA alone", words.Explainer{RDMAOnly: true}, notMPA,
			"port h:700 does not speak NFS over RDMA (iWARP): write the port that does, or ?rpcbind to find it"},
		{"not iWARP, named, RDMA alone", words.Explainer{Asked: true, RDMAOnly: true}, notMPA,
			"port h:700 does not speak NFS over RDMA (iWARP): write the port that does, such as rdma://h:20049"},
		{"another program, named", words.Explainer{Asked: true}, unavail, "port h:700 is not the port of NFS: it answers PROG_UNAVAIL"},
	} {
		at := reach.Target{Scheme: "rdma", Host: "h", Port: 700, Path: "/"}
		if got := tt.x.Explain(at, tt.err); got.Error() != tt.want || !errors.Is(got, tt.err) {
			t.Errorf("%s: got\n%v\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestExplainLost: a server that has answered before is the right one.
func TestExplainLost(t *testing.T) {
	for _, tt := range []struct {
		name, url string
		err       error
		want      string
	}{
		{"refused", "rdma://h", &net.OpError{Op: "dial", Err: words.ConnRefused}, "nothing listens at port h:20049 any more"},
		{"ends connections, RDMA", "rdma://h", &mpa.StartupError{Err: io.EOF}, "port h:20049 takes connections and ends them at once"},
		{"ends connections, TCP", "tcp://h", recordmark.ErrClosedByPeer, "port h:20048 takes connections and ends them at once"},
	} {
		target, err := reach.ParseTarget(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := (words.Explainer{Up: true}).Explain(target, tt.err); got.Error() != tt.want || !errors.Is(got, tt.err) {
			t.Errorf("%s: got %v, want %s", tt.name, got, tt.want)
		}
	}
}

// tcpServer serves programs over TCP until the test ends.
func tcpServer(t *testing.T, programs ...oncrpc.Program) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: reach.Quiet})
	s.Handle(programs...)
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: reach.Quiet}) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().String()
}

// TestRemoteErrors: the messages for a wrong port or path of a real server.
func TestRemoteErrors(t *testing.T) {
	s := startServe(t, "--memory", "/a", "--memory", "/data")
	closed := deadport.New(t, "127.0.0.1").String()
	other := tcpServer(t, oncrpc.Program{Number: 7, Version: 1, Procedures: make([]oncrpc.Procedure, 1)})
	newer := tcpServer(t, oncrpc.Program{Number: nfs3.Program, Version: 4, Procedures: make([]oncrpc.Procedure, 1)})
	tests := []struct{ name, url, want string }{
		{"nobody, RDMA", "rdma://" + closed + "/a", "nothing listens at port " + closed + ": is NFS over RDMA turned on at the server?"},
		{"nobody, TCP", "tcp://" + closed + "/a", "nothing listens at port " + closed + ": try tcp://127.0.0.1:2049"},
		{"the port for TCP", "rdma://" + s.tcp + "/a", "port " + s.tcp + " does not speak NFS over RDMA (iWARP); if it speaks TCP, write tcp://" + s.tcp},
		{"the port for RDMA", "tcp://" + s.rdma + "/a",
			"the server at port " + s.rdma + " ends the connection at the first call; if it speaks RDMA, write rdma://" + s.rdma},
		{"another program", "tcp://" + other + "/a", "port " + other + " is not the port of NFS: it answers PROG_UNAVAIL"},
		{"another version", "tcp://" + newer + "/a", "the server at port " + newer + " has NFS versions 4 to 4, but not 3"},
		{"no export", s.url("rdma", "/database"),
			"mount refused: no export of 127.0.0.1 holds /database (MNT3ERR_NOENT); it exports /a (to everyone) and /data (to everyone)"},
		{"no export at the root", s.url("tcp", "/"),
			"mount refused: no export of 127.0.0.1 holds / (MNT3ERR_NOENT); it exports /a (to everyone) and /data (to everyone)"},
	}
	for _, tt := range tests {
		r, stderr := newRemotes(t)
		_, _, err := r.Open(t.Context(), tt.url)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
		if got := stderr.String(); got != "" {
			t.Errorf("%s: on standard error: %q", tt.name, got)
		}
		r.Close()
	}
	// Commands print the same.
	lookups := startServe(t, "--memory", "/a", "--rdma-rpcbind", "127.0.0.1:0").lookups(t)
	code, _, stderr := execute(t, "ls", "rdma://"+lookups+"/a")
	if want := "port " + lookups + " is not the port of NFS: it answers PROG_UNAVAIL; write ?rpcbind in place of the port to find it\n"; code != cli.ExitFailed ||
		!strings.HasSuffix(stderr, want) {
		t.Errorf("ls: exit %d, %swant %s", code, stderr, want)
	}
	r, _ := newRemotes(t)
	if _, _, err := r.Open(t.Context(), "smb://host/x"); !errors.As(err, new(cli.UsageError)) {
		t.Errorf("got %v, want a usage error", err)
	}
}

// TestRemoteNoMount: an NFS server without MOUNT.
func TestRemoteNoMount(t *testing.T) {
	s := &remote.Server{Target: reach.Target{Scheme: "rdma", Host: "h", Port: 20049}}
	search := &nfsmount.SearchError{Host: "h", Tried: []nfsmount.Attempt{{Where: "there", Err: io.EOF}}}
	const text = "no MOUNT service at h: there: EOF"
	if got, want := s.ExplainMount(search).Error(), text+"; if it is elsewhere, add ?mountport=PORT to the URL"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.Target.MountPort = 700
	if got := s.ExplainMount(search).Error(); got != text {
		t.Errorf("with mountport: got %s, want %s", got, text)
	}
	refused := &nfsmount.Error{Path: "/x", Err: mount3.ErrAcces}
	if got := s.ExplainMount(refused); got != error(refused) {
		t.Errorf("got %v, want %v", got, refused)
	}
}

// TestCheckPort: a server that refuses calls from ports above 1023, like Linux's.
func TestCheckPort(t *testing.T) {
	procs := make([]oncrpc.Procedure, nfs3.ProcGetAttr+1)
	procs[nfs3.ProcGetAttr].Handler = func(_ context.Context, c *oncrpc.Call) error {
		new(nfs3.GetAttrArgs).UnmarshalXDR(c.Args)
		res := nfs3.GetAttrRes{Result: nfs3.Result{Status: nfs3.ErrPerm}}
		res.MarshalXDR(c.Results)
		return nil
	}
	conn := dialTCP(t, tcpServer(t, oncrpc.Program{Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}))
	m := &remote.Export{Client: nfsclient.New(conn, oncrpc.AuthNone())}
	for scheme, want := range map[string]bool{"tcp": true, "rdma": false} {
		s := &remote.Server{Target: reach.Target{Scheme: scheme, Host: "h"}, Conn: conn}
		err := s.CheckPort(t.Context(), m)
		if got := err != nil && strings.Contains(err.Error(), "a port below 1024"); got != want || (err != nil) != want {
			t.Errorf("%s: got %v, want the advice: %t", scheme, err, want)
		}
	}
}
