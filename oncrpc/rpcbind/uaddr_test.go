package rpcbind_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

func TestUniversalAddr(t *testing.T) {
	tests := []struct{ addr, want string }{
		{"127.0.0.1:2049", "127.0.0.1.8.1"},
		{"0.0.0.0:111", "0.0.0.0.0.111"},
		{"255.255.255.255:65535", "255.255.255.255.255.255"},
		{"192.0.2.1:0", "192.0.2.1.0.0"},
		{"[::]:2049", "::.8.1"},
		{"[::1]:20049", "::1.78.81"},
		{"[2001:db8::1]:256", "2001:db8::1.1.0"},
	}
	for _, tt := range tests {
		addr := netip.MustParseAddrPort(tt.addr)
		if got := rpcbind.UniversalAddr(addr); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.addr, got, tt.want)
		}
		if got, err := rpcbind.ParseUniversalAddr(tt.want); err != nil || got != addr {
			t.Errorf("%q: got %v, %v, want %v", tt.want, got, err, addr)
		}
	}
	for _, tt := range []struct{ addr, want string }{
		{"[::ffff:192.0.2.1]:2049", "192.0.2.1.8.1"},
		{"[fe80::1%eth0]:2049", "fe80::1.8.1"},
	} {
		if got := rpcbind.UniversalAddr(netip.MustParseAddrPort(tt.addr)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.addr, got, tt.want)
		}
	}
}

func TestParseUniversalAddr(t *testing.T) {
	for in, want := range map[string]string{
		"::ffff:192.0.2.1.8.1": "[::ffff:192.0.2.1]:2049",
		"0:0:0:0:0:0:0:1.0.1":  "[::1]:1",
	} {
		if got, err := rpcbind.ParseUniversalAddr(in); err != nil || got.String() != want {
			t.Errorf("%q: got %v, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", ".", "..", "8.1", ".8.1", "127.0.0.1", "127.0.0.1.8", "127.0.0.1.8.", "127.0.0.1..1", "127.0.0.1.256.1", "127.0.0.1.8.256",
		"127.0.0.1.-8.1", "127.0.0.1.+8.1", "127.0.0.1.08.1", "127.0.0.1.8.1 ", "127.0.0.1.8.1.", "127.0.0.1.0x8.1", "127.0.0.300.8.1",
		"127.0.0.1.8.1\x00", "1.2.3.4.5.8.1", "::", "::1", "::.8", "localhost.8.1", "fe80::1%eth0.8.1", "[::1].8.1",
		"/run/rpcbind.sock", "127.0.0.1.99999999999999999999.1",
	} {
		if got, err := rpcbind.ParseUniversalAddr(in); !errors.Is(err, rpcbind.ErrAddr) || got.IsValid() {
			t.Errorf("%q: got %v, %v, want ErrAddr", in, got, err)
		}
	}
}

func FuzzUniversalAddr(f *testing.F) {
	for _, s := range []string{"127.0.0.1.8.1", "::.8.1", "2001:db8::1.0.0", "::ffff:192.0.2.1.8.1", "1.2.3.4.5", "..."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := rpcbind.ParseUniversalAddr(s)
		if err != nil {
			return
		}
		want := netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		if got, err := rpcbind.ParseUniversalAddr(rpcbind.UniversalAddr(a)); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
	})
}

func TestMappings(t *testing.T) {
	m := func(netid, addr string) rpcbind.Mapping {
		return rpcbind.Mapping{Program: 100003, Version: 3, Netid: netid, Addr: addr}
	}
	tests := []struct {
		base, addr string
		want       []rpcbind.Mapping
	}{
		{"tcp", "192.0.2.1:2049", []rpcbind.Mapping{m("tcp", "192.0.2.1.8.1")}},
		{"tcp", "0.0.0.0:2049", []rpcbind.Mapping{m("tcp", "0.0.0.0.8.1")}},
		{"rdma", "[::ffff:192.0.2.1]:2049", []rpcbind.Mapping{m("rdma", "192.0.2.1.8.1")}},
		{"rdma", "192.0.2.1:20049", []rpcbind.Mapping{m("rdma", "192.0.2.1.78.81")}},
		{"rdma", "0.0.0.0:111", []rpcbind.Mapping{m("rdma", "0.0.0.0.0.111")}},
		{"rdma", "[::1]:65535", []rpcbind.Mapping{m("rdma6", "::1.255.255")}},
		{"rdma", "[fe80::1%eth0]:20049", []rpcbind.Mapping{m("rdma6", "fe80::1.78.81")}},
		{"rdma", "[2001:db8::1]:20049", []rpcbind.Mapping{m("rdma6", "2001:db8::1.78.81")}},
		{"rdma", "[::]:20049", []rpcbind.Mapping{m("rdma", "0.0.0.0.78.81"), m("rdma6", "::.78.81")}},
	}
	for _, tt := range tests {
		got := rpcbind.Mappings(100003, 3, tt.base, netip.MustParseAddrPort(tt.addr))
		if !equal(got, tt.want) {
			t.Errorf("%s %s: got %v, want %v", tt.base, tt.addr, got, tt.want)
		}
	}
}
