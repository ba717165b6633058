package rpcbind_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// Arguments: 100003.3 of rdma and of tcp, and the same for version 2.
const (
	argsRDMA = "000186a3 00000003 00000004 72646d61 00000000 00000000"
	argsTCP  = "000186a3 00000003 00000003 74637000 00000000 00000000"
	argsPort = "000186a3 00000003 00000006 00000000"
)

// served are the mappings of the tests' server, at 192.0.2.1.
var served = []rpcbind.Mapping{nfsTCP, nfsRDMA, {Program: 100005, Version: 3, Netid: "tcp", Addr: "192.0.2.1.78.80", Owner: "x"}}

// The replies of all procedures over RDMA.
func TestServerBytes(t *testing.T) {
	const (
		dump = " 00000001 000186a3 00000003 00000003 74637000 0000000b 302e302e 302e302e 382e3100 00000000" +
			" 00000001 000186a3 00000003 00000004 72646d61 0000000d 302e302e 302e302e 37382e38 31000000 00000000" +
			" 00000001 000186a5 00000003 00000003 74637000 0000000f 3139322e 302e322e 312e3738 2e383000 00000001 78000000 00000000"
		dumpPorts = " 00000001 000186a3 00000003 00000006 00000801" +
			" 00000001 000186a5 00000003 00000006 00004e50 00000000"
		rdma = " 0000000f 3139322e 302e322e 312e3738 2e383100" // 192.0.2.1.78.81
		tcp  = " 0000000d 3139322e 302e322e 312e382e 31000000" // 192.0.2.1.8.1
	)
	tests := []struct {
		name               string
		version, procedure uint32
		args, want         string
	}{
		{"version 1", 1, 0, "", noVersion},
		{"version 5", 5, 0, "", noVersion},

		{"NULL", 2, 0, "", success},
		{"SET", 2, 1, "000186a3 00000003 00000006 00000802", success + "00000000"},
		{"UNSET", 2, 2, argsPort, success + "00000000"},
		{"GETPORT", 2, 3, argsPort, success + "00000801"},
		{"GETPORT of UDP", 2, 3, "000186a3 00000003 00000011 00000000", success + "00000000"},
		{"DUMP", 2, 4, "", success + dumpPorts},
		{"CALLIT", 2, 5, "000186a3 00000003 00000000 00000000", procUnavail},

		{"NULL", 3, 0, "", success},
		{"SET", 3, 1, argsRDMA, success + "00000000"},
		{"UNSET", 3, 2, argsRDMA, success + "00000000"},
		{"GETADDR", 3, 3, argsRDMA, success + rdma},
		{"GETADDR of another transport", 3, 3, argsTCP, success + tcp},
		{"GETADDR of another program", 3, 3, "000186a4" + argsRDMA[8:], success + "00000000"},
		{"DUMP", 3, 4, "", success + dump},
		{"CALLIT", 3, 5, "000186a3 00000003 00000000 00000000", procUnavail},
		{"UADDR2TADDR", 3, 7, "00000000", procUnavail},
		{"TADDR2UADDR", 3, 8, "00000000 00000000", procUnavail},
		{"GETVERSADDR", 3, 9, argsRDMA, procUnavail},

		{"NULL", 4, 0, "", success},
		{"SET", 4, 1, argsRDMA, success + "00000000"},
		{"UNSET", 4, 2, argsRDMA, success + "00000000"},
		{"GETADDR", 4, 3, argsRDMA, success + rdma},
		{"DUMP", 4, 4, "", success + dump},
		{"BCAST", 4, 5, "000186a3 00000003 00000000 00000000", procUnavail},
		{"GETVERSADDR", 4, 9, argsRDMA, success + rdma},
		{"GETVERSADDR of another transport", 4, 9, argsTCP, success + tcp},
		{"INDIRECT", 4, 10, "000186a3 00000003 00000000 00000000", procUnavail},
		{"GETADDRLIST", 4, 11, argsRDMA, procUnavail},
		{"GETSTAT", 4, 12, "", procUnavail},
		{"procedure 13", 4, 13, "", procUnavail},
	}
	s := serverOf(served...)
	for _, tt := range tests {
		got := dispatch(s, tcpAddr("192.0.2.1:20049"), tt.version, tt.procedure, bytesOf(t, tt.args))
		if want := bytesOf(t, tt.want); !bytes.Equal(got, want) {
			t.Errorf("version %d, %s: got\n%x, want\n%x", tt.version, tt.name, got, want)
		}
	}
	// None of these calls has changed anything.
	if got, want := dispatch(s, tcpAddr("192.0.2.1:20049"), 4, 4, nil), bytesOf(t, success+dump); !bytes.Equal(got, want) {
		t.Errorf("DUMP in the end: got\n%x, want\n%x", got, want)
	}
}

// The same for rdma6, over IPv6.
func TestServerBytes6(t *testing.T) {
	const (
		args  = "000186a3 00000003 00000005 72646d61 36000000 00000000 00000000"
		found = success + "00000011 32303031 3a646238 3a3a312e 37382e38 31000000"
		list  = success + "00000001 000186a3 00000003 00000005 72646d61 36000000 00000008 3a3a2e37 382e3831 00000000 00000000"
	)
	s := serverOf(nfs("rdma6", "::.78.81"))
	for _, tt := range []struct {
		version, procedure uint32
		args, want         string
	}{{3, 3, args, found}, {4, 3, args, found}, {4, 9, args, found}, {3, 4, "", list}, {4, 4, "", list}} {
		got := dispatch(s, tcpAddr("[2001:db8::1]:20049"), tt.version, tt.procedure, bytesOf(t, tt.args))
		if want := bytesOf(t, tt.want); !bytes.Equal(got, want) {
			t.Errorf("version %d, procedure %d: got\n%x, want\n%x", tt.version, tt.procedure, got, want)
		}
	}
}

// In a synctest bubble, it is the year 2000.
func TestServerTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for version, want := range map[uint32]string{2: procUnavail, 3: success + "386d4380", 4: success + "386d4380"} {
			if got := dispatch(serverOf(), nil, version, 6, nil); !bytes.Equal(got, bytesOf(t, want)) {
				t.Errorf("version %d: got %x, want %s", version, got, want)
			}
		}
	})
}

// Missing bytes, surplus bytes and long strings in arguments are errors.
func TestServerGarbage(t *testing.T) {
	s := serverOf(served...)
	want := bytesOf(t, garbageArgs)
	long := append(bytesOf(t, "000186a3 00000003 00000401"), bytes.Repeat([]byte("x"), 1028+8)...)
	huge := bytesOf(t, "000186a3 00000003 ffffffff")
	for version, procedures := range map[uint32]map[uint32]string{
		2: {1: argsPort, 2: argsPort, 3: argsPort, 4: ""},
		3: {1: argsRDMA, 2: argsRDMA, 3: argsRDMA, 4: "", 6: ""},
		4: {1: argsRDMA, 2: argsRDMA, 3: argsRDMA, 4: "", 6: "", 9: argsRDMA},
	} {
		for p, args := range procedures {
			good := bytesOf(t, args)
			bad := [][]byte{append(slices.Clone(good), 0, 0, 0, 0), long, huge}
			for i := range good {
				bad = append(bad, good[:i])
			}
			for _, b := range bad {
				if got := dispatch(s, tcpAddr("192.0.2.1:20049"), version, p, b); !bytes.Equal(got, want) {
					t.Errorf("version %d, procedure %d, %.40x: got %x, want %x", version, p, b, got, want)
				}
			}
		}
	}
	if got := dispatch(s, nil, 2, 3, bytesOf(t, "000186a3 00000003 00000006 00010000")); !bytes.Equal(got, want) {
		t.Errorf("port 65536: got %x, want %x", got, want)
	}
}

// Programs copies its mappings.
func TestServerKeeps(t *testing.T) {
	list := slices.Clone(served)
	s := serverOf(list...)
	clear(list)
	if got, want := dispatch(s, nil, 4, 4, nil), dispatch(serverOf(served...), nil, 4, 4, nil); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// Version 2 has only the mappings that it can express.
func TestServerPortMapper(t *testing.T) {
	m := func(netid, addr string) rpcbind.Mapping {
		return rpcbind.Mapping{Program: 100003, Version: 3, Netid: netid, Addr: addr}
	}
	s := serverOf(m("rdma", "0.0.0.0.78.81"), m("tcp6", "::.8.1"), m("tcp", "::1.8.1"), m("tcp", "nonsense"), m("tcp", ""), m("local", "/run/nfs"),
		m("udp", "192.0.2.1.8.2"), rpcbind.Mapping{Program: 100003, Version: 5, Netid: "udp", Addr: "192.0.2.1.8.3"})
	list := success + "00000001 000186a3 00000003 00000011 00000802 00000001 000186a3 00000005 00000011 00000803 00000000"
	if got, want := dispatch(s, nil, 2, 4, nil), bytesOf(t, list); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	for args, want := range map[string]string{
		argsPort:                              "00000000",
		"000186a3 00000003 00000011 00000000": "00000802",
		"000186a3 00000003 00000011 0000ffff": "00000802", // the port is ignored
		"000186a3 00000004 00000011 00000000": "00000802", // the first of another version
		"000186a3 00000005 00000011 00000000": "00000803",
		"000186a4 00000003 00000011 00000000": "00000000",
	} {
		if got := dispatch(s, nil, 2, 3, bytesOf(t, args)); !bytes.Equal(got, bytesOf(t, success+want)) {
			t.Errorf("GETPORT %s: got %x, want %s", args, got, want)
		}
	}
}

// Every call gets an answer, no longer than the list of all mappings.
func FuzzServer(f *testing.F) {
	f.Add(uint32(2), uint32(3), bytesOf(f, argsPort))
	f.Add(uint32(3), uint32(3), bytesOf(f, argsRDMA))
	f.Add(uint32(4), uint32(9), bytesOf(f, argsTCP))
	f.Add(uint32(4), uint32(4), []byte{})
	s := serverOf(served...)
	most := len(dispatch(s, nil, 4, 4, nil))
	f.Fuzz(func(t *testing.T, version, procedure uint32, args []byte) {
		got := dispatch(s, tcpAddr("192.0.2.1:20049"), version, procedure, args)
		if len(got) < 24 || len(got) > most || !strings.HasPrefix(string(got), "\x1b\xad\xca\xfe\x00\x00\x00\x01") {
			t.Errorf("got %x", got)
		}
	})
}
