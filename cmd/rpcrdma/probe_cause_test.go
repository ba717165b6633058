package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// TestProbeNoHost: an unknown name.
func TestProbeNoHost(t *testing.T) {
	f := probing{}.of(t, "rdma://no..host").names(t, "name", probe.Fail, probe.CauseNoHost)
	if !strings.Contains(f.Do, "no..host") {
		t.Errorf("to do: %s", f.Do)
	}
}

// TestProbeRefused: nothing listens, here or elsewhere.
func TestProbeRefused(t *testing.T) {
	dead := deadport.New(t, "127.0.0.1").String()
	for _, scheme := range schemes {
		f := probing{}.of(t, scheme+"://"+dead).names(t, "port", probe.Fail, probe.CauseRefused)
		if want := "nothing listens at port " + dead; !strings.Contains(f.Do, want) {
			t.Errorf("%s: to do: %s, want %s", scheme, f.Do, want)
		}
	}
	udp := strconv.Itoa(deadUDP(t))
	probing{}.of(t, "rdma+sctp://127.0.0.1/?udp="+udp).names(t, "port", probe.Fail, probe.CauseRefused)
}

// TestProbeWrongPort: nothing listens, but the server is at another port; or another service
// listens.
func TestProbeWrongPort(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	dead := deadport.New(t, "127.0.0.1").String()
	usual := func(p *probe.Prober) {
		p.Usual = []reach.Target{rdmaAt(t, s.rdma), rdmaAt(t, s.tcp)}
		p.Usual[1].Scheme = "tcp"
	}
	for scheme, there := range map[string]string{"rdma": s.rdma, "tcp": s.tcp} {
		r := probing{change: usual}.of(t, scheme+"://"+dead)
		f := r.names(t, "port", probe.Fail, probe.CauseWrongPort)
		if want := "NFS is at " + scheme + "://" + there; !strings.Contains(f.Do, want) {
			t.Errorf("%s: to do: %s, want %s", scheme, f.Do, want)
		}
	}
	named := tcpServer(t, rpcbind.Programs([]rpcbind.Mapping{
		{Program: nfs3.Program, Version: nfs3.Version, Netid: "rdma", Addr: universal(t, s.rdma)},
	})...)
	asked := func(p *probe.Prober) { p.Rpcbind = rdmaAt(t, named).Port }
	f := probing{change: asked}.of(t, "rdma://"+dead).names(t, "port", probe.Fail, probe.CauseWrongPort)
	if want := "NFS is at rdma://" + s.rdma + ", as rpcbind says"; !strings.Contains(f.Do, want) {
		t.Errorf("to do: %s, want %s", f.Do, want)
	}

	other := tcpServer(t,
		oncrpc.Program{Number: 7, Version: 1, Procedures: make([]oncrpc.Procedure, 1)})
	probing{}.of(t, "tcp://"+other).names(t, "port", probe.Fail, probe.CauseWrongPort)
	web := listening(t, func(c net.Conn) {
		c.Read(make([]byte, 1))
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
	})
	for _, scheme := range schemes {
		probing{}.of(t, scheme+"://"+web).names(t, "port", probe.Fail, probe.CauseWrongPort)
	}
}

// TestProbeEnded: a server that refuses connections from this host.
func TestProbeEnded(t *testing.T) {
	s := startServe(t, "--memory", "/a", "--allow", "192.0.2.0/24")
	for scheme, addr := range map[string]string{"rdma": s.rdma, "tcp": s.tcp} {
		f := probing{}.of(t, scheme+"://"+addr+"/a").names(t, "port", probe.Fail, probe.CauseEnds)
		if !strings.Contains(f.Do, "--allow") {
			t.Errorf("%s: to do: %s", scheme, f.Do)
		}
	}
}

// listening serves connections until the test ends.
func listening(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-over
	})
	return l.Addr().String()
}

// TestProbeSwapped: a URL of TCP with the port of RDMA, and the other way round.
func TestProbeSwapped(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	for scheme, addr := range map[string]string{"rdma": s.tcp, "tcp": s.rdma} {
		f := probing{}.of(t, scheme+"://"+addr+"/a").names(t, "port", probe.Fail, probe.CauseSwapped)
		want := map[string]string{"rdma": "tcp://", "tcp": "rdma://"}[scheme] + addr + "/a"
		if !strings.HasSuffix(f.Do, want) {
			t.Errorf("%s: to do: %s, want %s", scheme, f.Do, want)
		}
	}
}

// TestProbeNotRegistered: the URL has ?rpcbind, but rpcbind does not know the port.
func TestProbeNotRegistered(t *testing.T) {
	empty := tcpServer(t, rpcbind.Programs(nil)...)
	r := probing{}.of(t, "rdma://127.0.0.1?rpcbind="+strconv.Itoa(rdmaAt(t, empty).Port))
	r.names(t, "rpcbind", probe.Fail, probe.CauseNotRegistered)

	s := startServe(t, "--memory", "/a")
	url := "tcp://127.0.0.1/a?rpcbind=" + strconv.Itoa(rdmaAt(t, s.tcp).Port)
	if r := (probing{}).of(t, url); !r.OK {
		t.Errorf("found by rpcbind:\n%s", r.lines())
	}
}

// TestProbeMute: a port that takes connections, and never answers.
func TestProbeMute(t *testing.T) {
	t.Parallel()
	addr := listening(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			r := probing{short: true}.of(t, scheme+"://"+addr)
			r.names(t, "port", probe.Fail, probe.CauseNoAnswer)
		})
	}
}

// choosing is an iWARP server that accepts only some requests.
func choosing(t *testing.T, accept func(*mpa.Request) bool) (addr string) {
	t.Helper()
	return rdmaServer(t, iwarp.Config{CRC: iwarp.CRCOff,
		Choose: func(_ net.Addr, r *mpa.Request, _ *mpa.Config) error {
			if !accept(r) {
				return errors.New("not this one")
			}
			return nil
		}}, programsOf(t, nfsserver.Export{Path: "/", FS: exported(t)})...)
}

// TestProbeCRC: one side requires CRC32C. If the other refuses, there is no connection; if it
// agrees, probe notes it.
func TestProbeCRC(t *testing.T) {
	crc := func(value string) func(*probe.Flags) {
		return func(f *probe.Flags) {
			if err := f.Connections.CRC.Set(value); err != nil {
				t.Fatal(err)
			}
		}
	}
	requires := choosing(t, (*mpa.Request).CRC)
	refuses := choosing(t, func(r *mpa.Request) bool { return !r.CRC() })
	takes := startServe(t, "--memory", "/a", "--crc", "on").rdma
	for _, tt := range []struct {
		name, addr, flag string
		status           probe.Status
		cause            probe.Cause
	}{
		{"the server requires it", requires, "off", probe.Fail, probe.CauseCRC},
		{"both require it", requires, "on", probe.Warn, probe.CauseCRC},
		{"this side requires it", refuses, "on", probe.Fail, probe.CauseNoCRC},
		{"neither has it", refuses, "off", probe.Warn, probe.CauseNoCRC},
		{"the server requires it, and this side takes it", takes, "off", probe.Note, probe.CauseCRC},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := probing{flags: crc(tt.flag)}.of(t, "rdma://"+tt.addr)
			r.names(t, "mpa", tt.status, tt.cause)
			if ok := tt.status != probe.Fail; r.OK != ok {
				t.Errorf("ok is %v\n%s", r.OK, r.lines())
			}
		})
	}
}

// TestProbeIRD: the server may have no RDMA Read under way, or wants more than the client allows.
func TestProbeIRD(t *testing.T) {
	programs := programsOf(t, nfsserver.Export{Path: "/", FS: exported(t)})
	for _, low := range []iwarp.Config{{ORD: -1}, {ORD: 64, RequiredORD: 64}} {
		addr := rdmaServer(t, low, programs...)
		probing{}.of(t, "rdma://"+addr).names(t, "mpa", probe.Fail, probe.CauseIRD)
	}
}

// TestProbeRejected: a server that refuses connections without a reason.
func TestProbeRejected(t *testing.T) {
	addr := choosing(t, func(*mpa.Request) bool { return false })
	f := probing{}.of(t, "rdma://"+addr).names(t, "mpa", probe.Fail, probe.CauseRejected)
	if !strings.Contains(f.Do, "rejects the connection") {
		t.Errorf("to do: %s", f.Do)
	}
}

// TestProbeRoCETaken: nothing listens at the port of the URL. Another process has the UDP port of
// RoCE on this host; and a silent port may be RoCE's. If iWARP or TCP answers, probe does not
// mention RoCE.
func TestProbeRoCETaken(t *testing.T) {
	s := startServe(t, "--memory", "/a")
	l, err := net.ListenUDP("udp", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := func(p *probe.Prober) { p.Roce = l.LocalAddr().(*net.UDPAddr).Port }
	r := probing{change: taken}.of(t, "rdma://"+deadport.New(t, "127.0.0.1").String())
	if f := r.find(t, "roce", probe.Note); f.Values["open"] != "unknown" {
		t.Errorf("open is %v, want unknown", f.Values["open"])
	}
	isTaken := func(f probe.Finding) bool { return f.Cause == probe.CauseRoCETaken }
	if !slices.ContainsFunc(r.Findings, isTaken) {
		t.Errorf("no %s in\n%s", probe.CauseRoCETaken, r.lines())
	}
	for _, url := range []string{"rdma://" + s.rdma + "/a", "tcp://" + s.tcp + "/a"} {
		r := probing{change: taken}.of(t, url)
		if slices.ContainsFunc(r.Findings, func(f probe.Finding) bool { return f.Step == "roce" }) {
			t.Errorf("%s: the server does not need RoCE:\n%s", url, r.lines())
		}
	}
}

// TestProbeGateway: a gateway that cannot reach its server, and one that can.
func TestProbeGateway(t *testing.T) {
	t.Parallel()
	lonely := startGateway(t, nil, "--to", "rdma://"+deadport.New(t, "127.0.0.1").String())
	probing{short: true}.of(t, "tcp://"+lonely.tcp).names(t, "port", probe.Fail, probe.CauseNoServer)

	s := startServe(t, "--memory", "/a")
	g := startGateway(t, nil, "--to", "rdma://"+s.rdma)
	if r := (probing{}).of(t, "tcp://"+g.tcp+"/a"); !r.OK {
		t.Errorf("a gateway with its server:\n%s", r.lines())
	}
}

// TestProbeNoMount: NFS without MOUNT.
func TestProbeNoMount(t *testing.T) {
	var nfs []oncrpc.Program
	for _, p := range programsOf(t, nfsserver.Export{Path: "/", FS: exported(t)}) {
		if p.Number == nfs3.Program {
			nfs = append(nfs, p)
		}
	}
	dead := deadport.New(t, "127.0.0.1").Port()
	options := "?mountport=" + strconv.Itoa(int(dead)) // where this machine may have none
	r := probing{}.of(t, "tcp://"+tcpServer(t, nfs...)+options)
	f := r.names(t, "mount", probe.Fail, probe.CauseNoMount)
	if !strings.Contains(f.Do, "no MOUNT service at 127.0.0.1") {
		t.Errorf("to do: %s", f.Do)
	}
}

// TestProbeNotForHost: an export for other hosts.
func TestProbeNotForHost(t *testing.T) {
	addr := tcpServer(t, programsOf(t,
		nfsserver.Export{Path: "/all", FS: exported(t)},
		nfsserver.Export{Path: "/others", FS: exported(t),
			Rules: []nfsserver.Rule{{Clients: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}})...)
	f := probing{}.of(t, "tcp://"+addr+"/others").names(t, "mount", probe.Fail, probe.CauseNotForHost)
	if !strings.Contains(f.Do, "192.0.2.0/24") {
		t.Errorf("to do: %s, want whom it is for", f.Do)
	}
	probing{}.of(t, "tcp://"+addr+"/all").names(t, "mount", probe.Note, probe.CauseNotForHost)
}

// TestProbeGone: the exported directory has been removed.
func TestProbeGone(t *testing.T) {
	dir := t.TempDir()
	s := startServe(t, "--export", "/data="+dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	f := probing{}.of(t, "rdma://"+s.rdma+"/data").names(t, "mount", probe.Fail, probe.CauseGone)
	if !strings.Contains(f.Do, "server's log") || !strings.Contains(s.stderr.String(), "its directory has been removed") {
		t.Errorf("to do: %s; log: %v", f.Do, s.stderr)
	}
}

// TestProbeTooWeak: the server wants stronger credentials: from the first call on, for MOUNT, or
// for NFS alone, as Linux's does with sec=krb5.
func TestProbeTooWeak(t *testing.T) {
	deny := func(context.Context, *oncrpc.Call) (context.Context, error) {
		return nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
	}
	for _, tt := range []struct {
		step    string
		program uint32
		null    bool
	}{{"port", nfs3.Program, true}, {"mount", 100005, false}, {"root", nfs3.Program, false}} {
		t.Run(tt.step, func(t *testing.T) {
			programs := programsOf(t, nfsserver.Export{Path: "/", FS: exported(t)})
			for i := range programs {
				if p := &programs[i]; p.Number == tt.program {
					p.Authorize = deny
					if tt.null {
						p.Procedures[0].Handler = func(ctx context.Context, c *oncrpc.Call) error {
							_, err := deny(ctx, c)
							return err
						}
					}
				}
			}
			r := probing{}.of(t, "tcp://"+tcpServer(t, programs...))
			f := r.names(t, tt.step, probe.Fail, probe.CauseTooWeak)
			if !strings.Contains(f.Found, "AUTH_TOOWEAK") || !strings.Contains(f.Do, "?tls") {
				t.Errorf("to do: %s", f.Do)
			}
		})
	}
}

// TestProbeTLS: a server that wants TLS and gets it, and one that does not.
func TestProbeTLS(t *testing.T) {
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := certs.Files(dir); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	s := startServe(t, "--memory", "/a", "--tls-cert", file("server.pem"), "--tls-key",
		file("server.key"), "--tls-ca", file("ca.pem"))
	probing{}.of(t, "tcp://"+s.tcp+"/a").names(t, "mount", probe.Fail, probe.CauseTooWeak)
	shown := func(f *probe.Flags) {
		f.Connections.TLS.Ca = file("ca.pem")
		f.Connections.TLS.Cert, f.Connections.TLS.Key = file("client.pem"), file("client.key")
	}
	r := probing{flags: shown}.of(t, "tcp://"+s.tcp+"/a?tls")
	if f := r.find(t, "call", probe.OK); f.Values["tls"] != true || !r.OK {
		t.Errorf("with TLS:\n%s", r.lines())
	}
}

// TestProbeSquash: the server squashes root, or not, or probe cannot tell.
func TestProbeSquash(t *testing.T) {
	as := func(uid cli.UserFlag) func(*probe.Flags) {
		return func(f *probe.Flags) {
			f.Connections.UID = uid
		}
	}
	for _, tt := range []struct {
		name, squash  string
		uid           cli.UserFlag
		own, readOnly bool // there is a file of user 1000
		status        probe.Status
		squashed      probe.RootIs
	}{
		{"squashed, and root asks", "root", 0, true, false, probe.Warn, probe.RootIsNobody},
		{"squashed, and another asks", "root", 1000, true, false, probe.Note, probe.RootIsNobody},
		{"not squashed", "none", 0, true, false, probe.OK, probe.RootIsRoot},
		{"nothing to see it by", "root", 0, false, false, probe.Note, probe.RootUnknown},
		{"or read-only", "root", 0, true, true, probe.Warn, probe.RootReads},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fs := exported(t)
			set := func(h nfs3.FH, mode, uid uint32) {
				t.Helper()
				a := &nfs3.Sattr{
					Mode: nfs3.Set32{Set: true, To: mode}, UID: nfs3.Set32{Set: true, To: uid},
				}
				if _, err := fs.SetAttr(t.Context(), new(vfs.Cred), h, a, nil); err != nil {
					t.Fatal(err)
				}
			}
			o, _, err := fs.Lookup(t.Context(), new(vfs.Cred), fs.Root(), "file")
			if err != nil {
				t.Fatal(err)
			}
			if tt.own {
				set(o.File, 0o644, 1000)
			} else {
				set(o.File, 0o666, 0)
				set(fs.Root(), 0o777, 0)
			}
			squash := nfsserver.SquashRoot
			if tt.squash == "none" {
				squash = nfsserver.SquashNone
			}
			addr := tcpServer(t, programsOf(t,
				nfsserver.Export{Path: "/", FS: fs,
					Rules: []nfsserver.Rule{{Squash: squash, ReadOnly: tt.readOnly}}})...)
			r := probing{flags: as(tt.uid)}.of(t, "tcp://"+addr)
			if tt.squashed == probe.RootIsNobody || tt.squashed == probe.RootReads {
				r.names(t, "root", tt.status, probe.CauseSquashed)
			}
			for _, f := range r.Findings {
				if got := f.Values["squashed"]; got != nil && got != string(tt.squashed) {
					t.Errorf("squashed is %v, want %s:\n%s", got, tt.squashed, r.lines())
				}
			}
			r.find(t, "root", tt.status)
			if !r.OK {
				t.Errorf("not ok:\n%s", r.lines())
			}
		})
	}
}

// TestProbeFile: a path in the URL that is not a file, or that the caller may not read.
func TestProbeFile(t *testing.T) {
	s := startServe(t, "--memory", "/a", "--squash", "none")
	m := mountAs(t, dialTCP(t, s.tcp), 1000, "/a")
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o600}}
	if _, err := m.SetAttr(t.Context(), m.put(t, "own", rig.Pattern(100)), mode, nil); err != nil {
		t.Fatal(err)
	}
	another := func(f *probe.Flags) { f.Connections.UID = 1234 }
	for path, cause := range map[string]probe.Cause{"missing": probe.CauseFailed, "own": probe.CauseDenies} {
		r := probing{flags: another}.of(t, "tcp://"+s.tcp+"/a/"+path)
		r.names(t, "read", probe.Fail, cause)
	}
	r := probing{flags: another}.of(t, "tcp://"+s.tcp+"/a") // which is that of others, too
	if f := r.find(t, "read", probe.Note); !r.OK || !strings.Contains(f.Found, "nothing is read") {
		t.Errorf("found %s\n%s", f.Found, r.lines())
	}
	m.put(t, "everybody's", rig.Pattern(10))
	r = probing{flags: another}.of(t, "tcp://"+s.tcp+"/a")
	if f := r.find(t, "read", probe.OK); f.Values["file"] != "/a/everybody's" {
		t.Errorf("read: %v", f.Values)
	}
}
