package rpcbind_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// reach serves s over a transport until the test ends, and returns a client.
func reach(t *testing.T, s *oncrpc.Server, over string) *rpcbind.Client {
	t.Helper()
	served := make(chan error, 1)
	var conn oncrpc.Transport
	var err error
	serveRDMA := func(l transport.Listener, d transport.Dialer) {
		go func() { served <- rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) }()
		conn, err = rpcrdma.Dial(t.Context(), d, l.Addr().String(), rpcrdma.Config{Logger: quiet})
	}
	where := "127.0.0.1:0"
	switch over {
	case "tcp6", "rdma6":
		needIPv6(t)
		where = "[::1]:0"
	case "unix":
		where = filepath.Join(t.TempDir(), "s")
	}
	switch over {
	case "tcp", "tcp6", "unix":
		l, err := net.Listen(over, where)
		if err != nil {
			t.Fatal(err)
		}
		go func() { served <- recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet}) }()
		c, err := net.Dial(over, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if conn, err = recordmark.NewConn(c, recordmark.Config{EnforceMaxReply: true, Logger: quiet}); err != nil {
			t.Fatal(err)
		}
	case "rdma", "rdma6":
		l, err := iwarp.Listen(t.Context(), where, iwarp.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		serveRDMA(l, iwarp.Dialer{})
	case "loopback":
		f := loopback.New()
		l, err := f.Listen("here", loopback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		serveRDMA(l, f.Dialer(loopback.Config{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := rpcbind.NewClient(conn)
	t.Cleanup(func() {
		c.Close()
		<-conn.Done()
		s.Close()
		<-served
	})
	return c
}

// needIPv6 skips the test if this machine has no IPv6.
func needIPv6(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	l.Close()
}

// The answers that a client gets over each transport. For netids other than that of the connection,
// the client uses DUMP, which returns addresses as registered.
func TestLookup(t *testing.T) {
	tests := []struct {
		over   string
		netid  string
		want   string // GETADDR's answer for version 3
		others string // for version 4: the address of another version
	}{
		{"tcp", "tcp", "127.0.0.1.8.1", "127.0.0.1.8.1"},
		{"tcp", "", "127.0.0.1.8.1", "127.0.0.1.8.1"},
		{"tcp", "rdma", "0.0.0.0.78.81", ""},
		{"rdma", "rdma", "127.0.0.1.78.81", "127.0.0.1.78.81"},
		{"rdma", "", "127.0.0.1.78.81", "127.0.0.1.78.81"},
		{"rdma", "tcp", "0.0.0.0.8.1", ""},
		{"unix", "tcp", "0.0.0.0.8.1", ""},
		{"unix", "", "", ""},
		{"loopback", "rdma", "0.0.0.0.78.81", ""},
		{"loopback", "", "", ""},
	}
	for _, tt := range tests {
		c := reach(t, serverOf(nfsTCP, nfsRDMA), tt.over)
		for _, q := range []struct {
			name    string
			get     func(context.Context, rpcbind.Mapping) (string, error)
			version uint32
			want    string
		}{
			{"GetAddr", c.GetAddr, 3, tt.want},
			{"GetAddr", c.GetAddr, 4, tt.others},
			{"GetVersAddr", c.GetVersAddr, 3, tt.want},
			{"GetVersAddr", c.GetVersAddr, 4, ""},
		} {
			got, err := q.get(t.Context(), rpcbind.Mapping{Program: 100003, Version: q.version, Netid: tt.netid})
			if got != q.want || (q.want == "") != errors.Is(err, rpcbind.ErrNotRegistered) || q.want != "" && err != nil {
				t.Errorf("%s of version %d of %q over %s: got %q, %v, want %q", q.name, q.version, tt.netid, tt.over, got, err, q.want)
			}
		}
	}
}

// The client's other queries work, and it cannot change anything.
func TestLookupRest(t *testing.T) {
	for _, over := range []string{"tcp", "rdma", "unix", "loopback"} {
		// The list does not fit in a short message over RDMA.
		list := []rpcbind.Mapping{nfsTCP, nfsRDMA}
		for i := range 500 {
			list = append(list, rpcbind.Mapping{Program: 400000, Version: uint32(i), Netid: "udp", Addr: "192.0.2.1.0.9", Owner: "somebody"})
		}
		c := reach(t, serverOf(list...), over)
		ctx := t.Context()
		for name, change := range map[string]func() error{
			"Set": func() error {
				return c.Set(ctx, rpcbind.Mapping{Program: 9, Version: 1, Netid: "tcp", Addr: "192.0.2.1.0.9"})
			},
			"Unset":     func() error { return c.Unset(ctx, nfsTCP) },
			"SetPort":   func() error { return c.SetPort(ctx, rpcbind.PortMapping{Program: 9, Version: 1, Protocol: 6, Port: 9}) },
			"UnsetPort": func() error { return c.UnsetPort(ctx, rpcbind.PortMapping{Program: 100003, Version: 3}) },
		} {
			if err := change(); !errors.Is(err, rpcbind.ErrRefused) {
				t.Errorf("%s over %s: got %v, want ErrRefused", name, over, err)
			}
		}
		if got, err := c.Dump(ctx); err != nil || !slices.Equal(got, list) {
			t.Errorf("Dump over %s: got %d mappings, %v, want %d", over, len(got), err, len(list))
		}
		if got, err := c.DumpPorts(ctx); err != nil || len(got) != 501 || got[0].Port != 2049 {
			t.Errorf("DumpPorts over %s: got %d, %v, want 501", over, len(got), err)
		}
		if got, err := c.GetPort(ctx, rpcbind.PortMapping{Program: 100003, Version: 3, Protocol: 6}); err != nil || got != 2049 {
			t.Errorf("GetPort over %s: got %d, %v, want 2049", over, got, err)
		}
	}
}

// The netid and the address with which GETADDR answers over RDMA.
func TestServerNetid(t *testing.T) {
	m := func(version uint32, netid, addr string) rpcbind.Mapping {
		return rpcbind.Mapping{Program: 100003, Version: version, Netid: netid, Addr: addr}
	}
	everywhere := []rpcbind.Mapping{
		m(3, "rdma", "0.0.0.0.78.81"), m(3, "rdma6", "::.78.81"), m(3, "tcp", "198.51.100.7.8.1"), m(3, "tcp6", "2001:db8::7.8.1"),
		m(3, "local", "/run/nfs"), m(4, "rdma", "0.0.0.0.1.1"),
	}
	tests := []struct {
		name  string
		at    net.Addr
		ask   rpcbind.Mapping
		want  string
		exact string // of GETVERSADDR
	}{
		{"no netid", tcpAddr("192.0.2.1:20049"), m(3, "", ""), "192.0.2.1.78.81", "192.0.2.1.78.81"},
		{"no known netid", tcpAddr("192.0.2.1:20049"), m(3, "sctp", ""), "192.0.2.1.78.81", "192.0.2.1.78.81"},
		{"no netid, IPv6", tcpAddr("[2001:db8::1]:20049"), m(3, "", ""), "2001:db8::1.78.81", "2001:db8::1.78.81"},
		{"IPv4 in IPv6", tcpAddr("[::ffff:192.0.2.1]:20049"), m(3, "", ""), "192.0.2.1.78.81", "192.0.2.1.78.81"},
		{"a link", tcpAddr("[fe80::1%1]:20049"), m(3, "rdma6", ""), "fe80::1.78.81", "fe80::1.78.81"},
		{"the other family", tcpAddr("192.0.2.1:20049"), m(3, "rdma6", ""), "::.78.81", "::.78.81"},
		{"the other family", tcpAddr("[2001:db8::1]:20049"), m(3, "rdma", ""), "0.0.0.0.78.81", "0.0.0.0.78.81"},
		{"an address of its own", tcpAddr("192.0.2.1:20049"), m(3, "tcp", ""), "198.51.100.7.8.1", "198.51.100.7.8.1"},
		{"one of IPv6", tcpAddr("[2001:db8::1]:20049"), m(3, "tcp6", ""), "2001:db8::7.8.1", "2001:db8::7.8.1"},
		{"a path", tcpAddr("192.0.2.1:20049"), m(3, "local", ""), "/run/nfs", "/run/nfs"},
		{"none of that netid", tcpAddr("192.0.2.1:20049"), m(3, "udp", ""), "", ""},
		{"nor of that one", tcpAddr("[2001:db8::1]:20049"), m(3, "udp6", ""), "", ""},
		{"what else is asked is not looked at", tcpAddr("192.0.2.1:20049"), m(3, "rdma", "192.0.2.9.9.9"), "192.0.2.1.78.81", "192.0.2.1.78.81"},
		{"the second version", tcpAddr("192.0.2.1:20049"), m(4, "rdma", ""), "192.0.2.1.1.1", "192.0.2.1.1.1"},
		{"another version", tcpAddr("192.0.2.1:20049"), m(2, "rdma", ""), "192.0.2.1.78.81", ""},
		{"over RoCE", roce.Addr{IP: netip.MustParseAddr("192.0.2.1"), Port: 20049}, m(3, "", ""), "192.0.2.1.78.81", "192.0.2.1.78.81"},
		{"over RoCE, IPv6", roce.Addr{IP: netip.MustParseAddr("2001:db8::1"), Port: 20049}, m(3, "rdma6", ""), "2001:db8::1.78.81", "2001:db8::1.78.81"},
		{"over what has no address of IP", loopback.Addr("here"), m(3, "rdma", ""), "0.0.0.0.78.81", "0.0.0.0.78.81"},
		{"and no netid", loopback.Addr("here"), m(3, "", ""), "", ""},
	}
	s := serverOf(everywhere...)
	for _, tt := range tests {
		var e xdr.Encoder
		tt.ask.MarshalXDR(&e)
		args := e.Message().Inline
		for _, q := range []struct {
			name               string
			version, procedure uint32
			want               string
		}{{"GETADDR", 3, 3, tt.want}, {"GETADDR", 4, 3, tt.want}, {"GETVERSADDR", 4, 9, tt.exact}} {
			d := xdr.NewDecoder(dispatch(s, tt.at, q.version, q.procedure, args)[24:])
			if got := d.String(1024); got != q.want || d.Finish() != nil {
				t.Errorf("%s, version %d, %s: got %q, %v, want %q", q.name, q.version, tt.name, got, d.Err(), q.want)
			}
		}
	}
}
