package nfsmount_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// registered is an rpcbind with MOUNT at a port.
func registered(netid, ip string, port uint16) []rpcbind.Mapping {
	addr := rpcbind.UniversalAddr(netip.AddrPortFrom(netip.MustParseAddr(ip), port))
	return []rpcbind.Mapping{
		{Program: rpcbind.Program, Version: 4, Netid: "tcp", Addr: "0.0.0.0.0.111"},
		{Program: mount3.Program, Version: 1, Netid: netid, Addr: "0.0.0.0.0.9"},
		{Program: mount3.Program, Version: mount3.Version, Netid: "udp", Addr: "0.0.0.0.0.9"},
		{Program: mount3.Program, Version: mount3.Version, Netid: netid, Addr: addr},
	}
}

// blind is an rpcbind whose GETADDR finds nothing.
func blind(mappings []rpcbind.Mapping) []oncrpc.Program {
	programs := rpcbind.Programs(mappings)
	for _, p := range programs {
		if p.Version > rpcbind.Version2 {
			p.Procedures[3] = oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
				new(rpcbind.Mapping).UnmarshalXDR(c.Args)
				c.Results.String("", 0)
				return nil
			}}
		}
	}
	return programs
}

// versions returns the programs with one of the given versions.
func versions(programs []oncrpc.Program, versions ...uint32) []oncrpc.Program {
	return slices.DeleteFunc(programs, func(p oncrpc.Program) bool { return !slices.Contains(versions, p.Version) })
}

// TestLocate: where MOUNT is searched, in which order, and when the search stops.
func TestLocate(t *testing.T) {
	all := nfsOf(t, nfsserver.Export{Path: "/", FS: newFS(t)})
	nfs, mount := only(nfs3.Program, all), only(mount3.Program, all)
	old := []oncrpc.Program{{Number: mount3.Program, Version: 1, Procedures: make([]oncrpc.Procedure, 1)}}
	tests := []struct {
		name    string
		nfs     []oncrpc.Program
		rpcbind []oncrpc.Program            // nil: no rpcbind
		ports   map[string][]oncrpc.Program // of the host
		port    int                         // that is given
		want    []string                    // ports dialled
		err     string                      // "": found
	}{
		{name: "on the connection", nfs: all, ports: map[string][]oncrpc.Program{"20048": mount}},
		{name: "at the port that is given, whatever else there is", nfs: all, ports: map[string][]oncrpc.Program{"700": mount}, port: 700,
			want: []string{"700"}},
		{name: "nowhere but at the port that is given", nfs: all, ports: map[string][]oncrpc.Program{"20048": mount}, port: 700,
			want: []string{"700"}, err: "no MOUNT service at server: MOUNT at TCP port server:700: connection refused"},
		{name: "by GETADDR", nfs: nfs, rpcbind: rpcbind.Programs(registered("tcp", "0.0.0.0", 700)),
			ports: map[string][]oncrpc.Program{"700": mount, "20048": mount}, want: []string{"111", "700"}},
		{name: "by GETADDR of version 3", nfs: nfs, rpcbind: versions(rpcbind.Programs(registered("tcp", "0.0.0.0", 700)), 2, 3),
			ports: map[string][]oncrpc.Program{"700": mount}, want: []string{"111", "700"}},
		{name: "the address of another interface", nfs: nfs, rpcbind: rpcbind.Programs(registered("tcp", "198.51.100.7", 700)),
			ports: map[string][]oncrpc.Program{"700": mount}, want: []string{"111", "700"}},
		{name: "by DUMP", nfs: nfs, rpcbind: blind(registered("tcp", "0.0.0.0", 700)),
			ports: map[string][]oncrpc.Program{"700": mount}, want: []string{"111", "700"}},
		{name: "by DUMP, for the other family of addresses", nfs: nfs, rpcbind: rpcbind.Programs(registered("tcp6", "::", 700)[2:]),
			ports: map[string][]oncrpc.Program{"700": mount}, want: []string{"111", "700"}},
		{name: "by GETPORT", nfs: nfs, rpcbind: versions(rpcbind.Programs(registered("tcp", "0.0.0.0", 700)), 2),
			ports: map[string][]oncrpc.Program{"700": mount}, want: []string{"111", "700"}},
		{name: "without rpcbind", nfs: nfs, ports: map[string][]oncrpc.Program{"20048": mount}, want: []string{"111", "20048"}},
		{name: "not registered", nfs: nfs, rpcbind: rpcbind.Programs(nil), ports: map[string][]oncrpc.Program{"20048": mount},
			want: []string{"111", "20048"}},
		{name: "registered and gone", nfs: nfs, rpcbind: rpcbind.Programs(registered("tcp", "0.0.0.0", 700)),
			ports: map[string][]oncrpc.Program{"20048": mount}, want: []string{"111", "700", "20048"}},
		{name: "registered in another version", nfs: nfs, rpcbind: rpcbind.Programs(registered("tcp", "0.0.0.0", 700)[:2]),
			ports: map[string][]oncrpc.Program{"9": old, "20048": mount}, want: []string{"111", "9", "20048"}},
		{name: "another version on the connection", nfs: slices.Concat(nfs, old), ports: map[string][]oncrpc.Program{"20048": mount},
			want: []string{"111", "20048"}},
		{name: "not twice", nfs: nfs, rpcbind: rpcbind.Programs(registered("tcp", "0.0.0.0", 20048)), want: []string{"111", "20048"},
			err: "no MOUNT service at server: on the connection to NFS: PROG_UNAVAIL; MOUNT at TCP port server:20048: connection refused"},
		{name: "nowhere", nfs: nfs, want: []string{"111", "20048"},
			err: "no MOUNT service at server: on the connection to NFS: PROG_UNAVAIL; rpcbind at server:111: connection refused; " +
				"MOUNT at TCP port server:20048: connection refused"},
		{name: "nowhere, and not registered", nfs: nfs, rpcbind: rpcbind.Programs(nil),
			ports: map[string][]oncrpc.Program{"20048": old}, want: []string{"111", "20048"},
			err: "no MOUNT service at server: on the connection to NFS: PROG_UNAVAIL; rpcbind at server:111: MOUNT is not registered there; " +
				"MOUNT at TCP port server:20048: PROG_MISMATCH: the server has versions 1 to 1"},
		{name: "what answers at 111 is no rpcbind", nfs: nfs, rpcbind: nfs, want: []string{"111", "20048"},
			err: "no MOUNT service at server: on the connection to NFS: PROG_UNAVAIL; rpcbind at server:111: PROG_UNAVAIL; " +
				"MOUNT at TCP port server:20048: connection refused"},
		{name: "no connection to NFS", ports: map[string][]oncrpc.Program{"20048": mount}, want: []string{"111", "20048"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &host{ports: make(map[string]string)}
			for port, programs := range tt.ports {
				h.ports[port] = serve(t, "127.0.0.1:0", programs)
			}
			if tt.rpcbind != nil {
				h.ports["111"] = serve(t, "127.0.0.1:0", tt.rpcbind)
			}
			var conn oncrpc.Transport
			if tt.nfs != nil {
				conn = connect(t, tt.nfs)
			}
			s, err := nfsmount.FindService(t.Context(), conn, nfsmount.Config{Host: "server", Port: tt.port, Flavor: sys(t), Dial: h.dial})
			if diff := cmp.Diff(tt.want, h.asked); diff != "" {
				t.Errorf("ports (-want +got)\n%s", diff)
			}
			if tt.err != "" {
				var search *nfsmount.SearchError
				if !errors.As(err, &search) || err.Error() != tt.err {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if list, err := s.Exports(t.Context()); err != nil || len(list) != 1 {
				t.Errorf("exports: got %v, %v, want one", list, err)
			}
			root, err := s.Mount(t.Context(), "/a")
			if err != nil || root.Rest != "a" {
				t.Errorf("mount: got %+v, %v", root, err)
			}
			s.Close()
		})
	}
}

// TestLocateNowhere: the attempts without a host. The error wraps their reasons.
func TestLocateNowhere(t *testing.T) {
	nfs := only(nfs3.Program, nfsOf(t, nfsserver.Export{Path: "/", FS: newFS(t)}))
	_, err := nfsmount.FindService(t.Context(), connect(t, nfs), nfsmount.Config{})
	var accept *oncrpc.AcceptError
	if want := "no MOUNT service: on the connection to NFS: PROG_UNAVAIL"; err == nil || err.Error() != want ||
		!errors.As(err, &accept) || accept.Stat != oncrpc.ProgUnavail {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = nfsmount.FindService(t.Context(), nil, nfsmount.Config{})
	if err == nil || !strings.Contains(err.Error(), "nowhere to look") {
		t.Errorf("got %v, want that there is nowhere to look", err)
	}
}

// TestLocateIPv6: rpcbind is asked for MOUNT in the address family over which it is reached.
func TestLocateIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	l.Close()
	all := nfsOf(t, nfsserver.Export{Path: "/", FS: newFS(t)})
	six, four := registered("tcp6", "::", 706), registered("tcp", "0.0.0.0", 704)
	h := &host{ports: map[string]string{
		"111": serve(t, "[::1]:0", rpcbind.Programs(slices.Concat(four, six))),
		"706": serve(t, "[::1]:0", only(mount3.Program, all)),
	}}
	s, err := nfsmount.FindService(t.Context(), nil, nfsmount.Config{Host: "::1", Dial: h.dial})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if diff := cmp.Diff([]string{"111", "706"}, h.asked); diff != "" {
		t.Errorf("ports (-want +got)\n%s", diff)
	}
}

// TestLocateOwnDial uses the package's default Dial.
func TestLocateOwnDial(t *testing.T) {
	at := netip.MustParseAddrPort(serve(t, "127.0.0.1:0", nfsOf(t, nfsserver.Export{Path: "/", FS: newFS(t)})))
	root, err := nfsmount.Mount(t.Context(), nil, "/x", nfsmount.Config{Host: at.Addr().String(), Port: int(at.Port()), Flavor: sys(t)})
	if err != nil || root.Rest != "x" {
		t.Fatalf("got %+v, %v", root, err)
	}
	if err := root.Unmount(t.Context()); err != nil {
		t.Error(err)
	}
	var failed *net.OpError
	_, err = nfsmount.Mount(t.Context(), nil, "/x", nfsmount.Config{Host: "127.0.0.1", Port: 1})
	if !errors.As(err, new(*nfsmount.SearchError)) || !errors.As(err, &failed) || failed.Op != "dial" {
		t.Errorf("got %v, want a SearchError for an error of dialling", err)
	}
}

// TestLocateCancelled: the end of the context stops the search at any point.
func TestLocateCancelled(t *testing.T) {
	nfs := only(nfs3.Program, nfsOf(t, nfsserver.Export{Path: "/", FS: newFS(t)}))
	for _, port := range []string{"111", "20048"} {
		t.Run(port, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0") // which never answers
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := &host{ports: map[string]string{port: l.Addr().String()}}
			read := make(chan struct{})
			go func() {
				defer close(read)
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				c.Read(make([]byte, 1)) // a call has arrived
				cancel()
				c.Read(make([]byte, 1000))
				c.Read(make([]byte, 1)) // until the client has gone
			}()
			if _, err := nfsmount.FindService(ctx, connect(t, nfs), nfsmount.Config{Host: "server", Dial: h.dial}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
			<-read
		})
	}
}
