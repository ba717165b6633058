package rpcbind_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// nfs returns a mapping of NFS version 3.
func nfs(netid, addr string) rpcbind.Mapping {
	return rpcbind.Mapping{Program: 100003, Version: 3, Netid: netid, Addr: addr}
}

// serverOfVersions is serverOf with only some of the versions.
func serverOfVersions(versions string, mappings ...rpcbind.Mapping) *oncrpc.Server {
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	for _, p := range rpcbind.Programs(mappings) {
		if strings.ContainsRune(versions, rune('0'+p.Version)) {
			s.Handle(p)
		}
	}
	return s
}

// The port that a client finds over each transport.
func TestPort(t *testing.T) {
	all := []rpcbind.Mapping{nfs("tcp", "0.0.0.0.8.1"), nfs("tcp6", "::.8.2"), nfs("udp", "0.0.0.0.8.3"),
		nfs("rdma", "0.0.0.0.78.81"), nfs("rdma6", "::.78.82")}
	older := nfs("rdma", "0.0.0.0.9.9")
	older.Version = 2
	tests := []struct {
		name     string
		over     string
		mappings []rpcbind.Mapping
		versions string // "": all
		base     string
		want     uint16 // 0 means ErrNotRegistered
	}{
		{"TCP over TCP", "tcp", all, "", "tcp", 2049},
		{"TCP over TCP, IPv6", "tcp6", all, "", "tcp", 2050},
		{"RDMA over TCP", "tcp", all, "", "rdma", 20049},
		{"RDMA over TCP, IPv6", "tcp6", all, "", "rdma", 20050},
		{"RDMA over RDMA", "rdma", all, "", "rdma", 20049},
		{"RDMA over RDMA, IPv6", "rdma6", all, "", "rdma", 20050},
		{"RDMA over RDMA, version 3", "rdma", all, "3", "rdma", 20049},
		{"RDMA over RDMA, IPv6, version 3", "rdma6", all, "3", "rdma", 20050},
		{"TCP over RDMA", "rdma", all, "", "tcp", 2049},
		{"TCP over RDMA, IPv6", "rdma6", all, "", "tcp", 2050},
		{"UDP over TCP", "tcp", all, "", "udp", 2051},
		{"RDMA over the Unix socket", "unix", all, "", "rdma", 20049},
		{"RDMA over what has no addresses of IP", "loopback", all, "", "rdma", 20049},

		{"rdma alone, IPv6", "tcp6", []rpcbind.Mapping{nfsRDMA}, "", "rdma", 20049},
		{"rdma alone, RDMA over IPv6", "rdma6", []rpcbind.Mapping{nfsRDMA}, "", "rdma", 20049},
		{"rdma6 alone, IPv4", "tcp", []rpcbind.Mapping{nfs("rdma6", "::.78.82")}, "", "rdma", 20050},
		{"rdma6 alone, RDMA over IPv4", "rdma", []rpcbind.Mapping{nfs("rdma6", "::.78.82")}, "", "rdma", 20050},
		{"another version", "tcp", []rpcbind.Mapping{older}, "", "rdma", 0},
		{"another program", "tcp", []rpcbind.Mapping{{Program: 100005, Version: 3, Netid: "rdma", Addr: "0.0.0.0.9.9"}}, "", "rdma", 0},
		{"TCP alone", "tcp", []rpcbind.Mapping{nfsTCP}, "", "rdma", 0},
		{"TCP alone, over RDMA", "rdma", []rpcbind.Mapping{nfsTCP}, "", "rdma", 0},
		{"nothing", "rdma", nil, "", "rdma", 0},

		{"TCP of the port mapper", "tcp", all, "2", "tcp", 2049},
		{"UDP of the port mapper", "tcp", all, "2", "udp", 2051},
		{"TCP of the port mapper, over RDMA", "rdma", all, "2", "tcp", 2049},
		{"nothing of the port mapper", "tcp", nil, "2", "tcp", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			versions := tt.versions
			if versions == "" {
				versions = "234"
			}
			c := reach(t, serverOfVersions(versions, tt.mappings...), tt.over)
			got, err := c.FindPort(t.Context(), 100003, 3, tt.base)
			if got != tt.want || tt.want == 0 && !errors.Is(err, rpcbind.ErrNotRegistered) || tt.want != 0 && err != nil {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
			var op *rpcbind.OpError
			if err != nil && !errors.As(err, &op) {
				t.Errorf("%v is no OpError", err)
			}
		})
	}
}

// Version 2 cannot express RDMA, so there is no port.
func TestPortOfPortMapper(t *testing.T) {
	c := reach(t, serverOfVersions("2", nfsTCP, nfsRDMA), "tcp")
	got, err := c.FindPort(t.Context(), 100003, 3, rpcbind.NetidRDMA)
	var refused *oncrpc.AcceptError
	if got != 0 || !errors.As(err, &refused) || refused.Stat != oncrpc.ProgMismatch || refused.High != 2 {
		t.Errorf("got %d, %v, want a mismatch of versions", got, err)
	}
}

// liar returns a server that claims NFS is at addr: with GETADDR for any question, and with DUMP
// for RDMA.
func liar(addr string) *oncrpc.Server {
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	for _, p := range rpcbind.Programs(nil) {
		p.Procedures[3] = oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
			new(rpcbind.Mapping).UnmarshalXDR(c.Args)
			c.Results.String(addr, len(addr))
			return nil
		}}
		p.Procedures[4] = oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Bool(true)
			c.Results.Uint32(100003)
			c.Results.Uint32(3)
			c.Results.String("rdma", 4)
			c.Results.String(addr, len(addr))
			c.Results.String("superuser", 9)
			c.Results.Bool(false)
			return nil
		}}
		s.Handle(p)
	}
	return s
}

// Invalid answers to GETADDR over RDMA, and to DUMP over TCP.
func TestPortLies(t *testing.T) {
	tests := []struct {
		name string
		addr string
		want uint16
		err  error
	}{
		{"another host", "198.51.100.7.78.81", 20049, nil},
		{"the other family", "2001:db8::7.78.81", 20049, nil},
		{"the highest port", "192.0.2.1.255.255", 65535, nil},
		{"port 0", "127.0.0.1.0.0", 0, rpcbind.ErrNotRegistered},
		{"port 65536", "127.0.0.1.256.0", 0, rpcbind.ErrAddr},
		{"no port", "127.0.0.1", 0, rpcbind.ErrAddr},
		{"a name", "localhost.78.81", 0, rpcbind.ErrAddr},
		{"a path", "/run/nfs", 0, rpcbind.ErrAddr},
		{"an InfiniBand address", "fe80:0000:0000:0000:0002:c903:0000:1491", 0, rpcbind.ErrAddr},
		{"zero bytes", "127.0.0.1.78.81\x00", 0, rpcbind.ErrAddr},
		{"1024 bytes", strings.Repeat("1", 1024), 0, rpcbind.ErrAddr},
		{"1025 bytes", strings.Repeat("1", 1025), 0, xdr.ErrLimit},
		{"more than there is room for", strings.Repeat("1", 1<<20), 0, nil},
	}
	for _, tt := range tests {
		for _, over := range []string{"rdma", "tcp"} {
			t.Run(tt.name+" over "+over, func(t *testing.T) {
				c := reach(t, liar(tt.addr), over)
				got, err := c.FindPort(t.Context(), 100003, 3, rpcbind.NetidRDMA)
				if got != tt.want || (err == nil) != (tt.want != 0) || !errors.Is(err, tt.err) && tt.err != nil {
					t.Errorf("got %d, %v, want %d, %v", got, err, tt.want, tt.err)
				}
			})
		}
	}
}

// A long list is searched to its end, over RDMA in a chunk. A list that is too long is an error.
func TestPortLongList(t *testing.T) {
	for _, over := range []string{"tcp", "rdma"} {
		// Ask for another netid than that of the connection, so that DUMP is called.
		base := map[string]string{"tcp": "rdma", "rdma": "tcp"}[over]
		for n, want := range map[int]uint16{0: 2049, 1000: 2049, 4095: 2049, 4096: 0, 100000: 0} {
			var list []rpcbind.Mapping
			for i := range n {
				list = append(list, rpcbind.Mapping{Program: 400000, Version: uint32(i), Netid: "tcp", Addr: "255.255.255.255.255.255", Owner: "superuser"})
			}
			list = append(list, nfs(base, "0.0.0.0.8.1"))
			got, err := reach(t, serverOf(list...), over).FindPort(t.Context(), 100003, 3, base)
			if got != want || (err == nil) != (want != 0) {
				t.Errorf("%d others, over %s: got %d, %v, want %d", n, over, got, err, want)
			}
		}
	}
}
