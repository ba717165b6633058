package cm_test

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/internal/capture"
)

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// captured returns the MADs of Linux's session.
func captured(t testing.TB) (all [][]byte) {
	for _, d := range capture.Load(t) {
		if h, err := bth.Parse(d.Payload); err == nil && h.QP == cm.QP {
			all = append(all, h.Payload)
		}
	}
	return all
}

// TestCapture parses each MAD of Linux, and encodes it to the same bytes.
func TestCapture(t *testing.T) {
	seen := make(map[reflect.Type]int)
	for i, p := range captured(t) {
		m, transaction, err := cm.Parse(p)
		if err != nil {
			t.Fatalf("MAD %d: %v", i, err)
		}
		seen[reflect.TypeOf(m)]++
		if got := cm.Append(nil, m, transaction); !bytes.Equal(got, p) {
			t.Errorf("MAD %d, %T, is\n%x, and encoded again\n%x", i, m, p, got)
		}
		for n := range p {
			if _, _, err := cm.Parse(p[:n]); !errors.Is(err, cm.ErrLength) {
				t.Fatalf("MAD %d, the first %d bytes: got %v, want %v", i, n, err, cm.ErrLength)
			}
		}
	}
	for _, m := range []cm.Message{new(cm.REQ), new(cm.REP), new(cm.RTU), new(cm.DREQ), new(cm.DREP)} {
		if seen[reflect.TypeOf(m)] == 0 {
			t.Errorf("no %T", m)
		}
	}
}

// TestLinuxREQ checks the REQ of Linux.
func TestLinuxREQ(t *testing.T) {
	client, server := netip.MustParseAddr("192.0.2.15"), netip.MustParseAddr("192.0.2.2")
	for _, p := range captured(t) {
		m, _, err := cm.Parse(p)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := m.(*cm.REQ)
		if !ok {
			continue
		}
		if port, ok := cm.ServicePort(got.ServiceID); !ok || port != 20049 {
			t.Errorf("service id %#x is of port %d, %v; want 20049", got.ServiceID, port, ok)
		}
		if cm.ServiceID(20049) != got.ServiceID {
			t.Errorf("ServiceID(20049) is %#x, want %#x", cm.ServiceID(20049), got.ServiceID)
		}
		ip, upper, err := cm.ParseIP(got.Private)
		if err != nil || ip.Src != client || ip.Dst != server || ip.Port == 0 {
			t.Errorf("addresses %+v, error %v; want %v and %v", ip, err, client, server)
		}
		if again := ip.Append(nil); !bytes.Equal(again, got.Private[:cm.IPLen]) {
			t.Errorf("encoded again the addresses are %x, want %x", again, got.Private[:cm.IPLen])
		}
		if want := []byte{0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3}; !bytes.HasPrefix(upper, want) {
			t.Errorf("private data %x, want it to begin with %x", upper, want)
		}
		got.Private, got.CommID, got.CAGUID, got.QP, got.PSN = nil, 0, 0, 0, 0
		want := &cm.REQ{
			ServiceID: 0x1064e51, ResponderResources: 128, RemoteTimeout: 20, LocalTimeout: 20,
			RetryCount: 6, PKey: 0xFFFF, MTU: 3, MaxCMRetries: 15, SRQ: got.SRQ,
			LocalLID: 0xFFFF, RemoteLID: 0xFFFF, LocalGID: client, RemoteGID: server,
			FlowLabel: got.FlowLabel, PacketRate: got.PacketRate, HopLimit: 64,
			AckTimeout: 0x13, TrafficClass: got.TrafficClass,
		}
		if diff := cmp.Diff(want, got, addrs); diff != "" {
			t.Error(diff)
		}
		return
	}
	t.Error("no REQ")
}

func full(n int) []byte { return bytes.Repeat([]byte{0xA5}, n) }

var goldens = []struct {
	name string
	m    cm.Message
	at   int // offset in the MAD's data
	want []byte
}{
	{"MRA", &cm.MRA{Local: 0x01020304, Remote: 0x05060708, About: cm.AboutREP, ServiceTimeout: 21,
		Private: full(cm.MRAPrivateLen)}, 0,
		[]byte{1, 2, 3, 4, 5, 6, 7, 8, 0x40, 21 << 3, 0xA5}},
	{"REJ", &cm.REJ{Local: 0x01020304, Remote: 0x05060708, About: cm.AboutOther,
		Reason: cm.ConsumerDefined, Info: []byte{9, 10}, Private: full(cm.REJPrivateLen)}, 0,
		[]byte{1, 2, 3, 4, 5, 6, 7, 8, 0x80, 2 << 1, 0, 28, 9, 10, 0}},
	{"REP", &cm.REP{Local: 1, Remote: 2, QKey: 3, QP: 0xABCDEF, PSN: 0x123456, ResponderResources: 16,
		InitiatorDepth: 17, AckDelay: 15, Failover: 1, FlowControl: true, RNRRetry: 7, SRQ: true,
		CAGUID: 0x0102030405060708, Private: full(cm.REPPrivateLen)}, 12,
		[]byte{0xAB, 0xCD, 0xEF, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0, 16, 17, 15<<3 | 1<<1 | 1,
			7<<5 | 0x10, 1, 2, 3, 4, 5, 6, 7, 8, 0xA5}},
	{"RTU", &cm.RTU{Local: 1, Remote: 2, Private: full(cm.RTUPrivateLen)}, 0,
		[]byte{0, 0, 0, 1, 0, 0, 0, 2, 0xA5}},
	{"DREQ", &cm.DREQ{Local: 1, Remote: 2, QP: 0xABCDEF, Private: full(cm.DREQPrivateLen)}, 0,
		[]byte{0, 0, 0, 1, 0, 0, 0, 2, 0xAB, 0xCD, 0xEF, 0, 0xA5}},
	{"DREP", &cm.DREP{Local: 1, Remote: 2, Private: full(cm.DREPPrivateLen)}, 0,
		[]byte{0, 0, 0, 1, 0, 0, 0, 2, 0xA5}},
	{"REQ", &cm.REQ{CommID: 1, ServiceID: cm.ServiceID(80), CAGUID: 2, QKey: 3, QP: 4,
		ResponderResources: 5, InitiatorDepth: 6, RemoteTimeout: 31, Transport: 3, FlowControl: true,
		PSN: 0x123456, LocalTimeout: 20, RetryCount: 7, PKey: 0xFFFF, MTU: 5, RNRRetry: 7,
		MaxCMRetries: 15, SRQ: true, LocalLID: 8, RemoteLID: 9,
		LocalGID: netip.MustParseAddr("2001:db8::1"), RemoteGID: netip.MustParseAddr("2001:db8::2"),
		FlowLabel: 0xFFFFF, PacketRate: 0x3F, TrafficClass: 10, HopLimit: 11, SubnetLocal: true,
		AckTimeout: 31, Private: full(cm.REQPrivateLen)}, 43,
		[]byte{31<<3 | 3<<1 | 1, 0x12, 0x34, 0x56, 20<<3 | 7, 0xFF, 0xFF, 5<<4 | 7, 15<<4 | 8}},
}

func TestGolden(t *testing.T) {
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			b := cm.Append(nil, tt.m, 0x1112131415161718)
			if len(b) != cm.Len || !bytes.HasPrefix(b[24+tt.at:], tt.want) {
				t.Errorf("%d bytes, from byte %d %x; want %x", len(b), tt.at, b[24+tt.at:], tt.want)
			}
			got, transaction, err := cm.Parse(b)
			if err != nil || transaction != 0x1112131415161718 {
				t.Fatalf("transaction %#x, error %v", transaction, err)
			}
			if diff := cmp.Diff(tt.m, got, addrs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	good := cm.Append(nil, new(cm.RTU), 1)
	for _, tt := range []struct {
		name string
		at   int
		to   byte
		want error
	}{
		{"base version", 0, 2, cm.ErrClass},
		{"class", 1, 3, cm.ErrClass},
		{"class version", 2, 1, cm.ErrClass},
		{"method", 3, 1, cm.ErrClass},
		{"attribute", 17, 0x19, cm.ErrUnknown},
	} {
		b := bytes.Clone(good)
		b[tt.at] = tt.to
		if _, _, err := cm.Parse(b); !errors.Is(err, tt.want) {
			t.Errorf("another %s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestIPv6(t *testing.T) {
	want := cm.IP{Port: 1023, Src: netip.MustParseAddr("2001:db8::1"),
		Dst: netip.MustParseAddr("2001:db8::2")}
	b := want.Append(nil)
	if len(b) != cm.IPLen || b[0] != 0 || b[1] != 0x60 || b[2] != 3 || b[3] != 0xFF ||
		b[4] != 0x20 || b[19] != 1 || b[35] != 2 {
		t.Errorf("encoded as %x", b)
	}
	got, upper, err := cm.ParseIP(append(b, "upper"...))
	if err != nil || got != want || string(upper) != "upper" {
		t.Errorf("got %+v, %q, %v", got, upper, err)
	}
	for _, bad := range [][]byte{nil, b[:35], append([]byte{0x10}, b[1:]...), make([]byte, 36)} {
		if _, _, err := cm.ParseIP(bad); !errors.Is(err, cm.ErrIP) {
			t.Errorf("%x: got %v, want %v", bad, err, cm.ErrIP)
		}
	}
}

func TestMTU(t *testing.T) {
	for code, bytes := range map[cm.MTU]int{1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096} {
		if cm.MTUOf(bytes) != code || code.Bytes() != bytes {
			t.Errorf("%d bytes have code %d, code %d has %d bytes", bytes, cm.MTUOf(bytes), code,
				code.Bytes())
		}
	}
	for _, code := range []cm.MTU{0, 6, 15} {
		if code.Bytes() != 0 {
			t.Errorf("code %d has %d bytes", code, code.Bytes())
		}
	}
}

// FuzzParse: a parsed MAD, encoded and parsed again, is the same.
func FuzzParse(f *testing.F) {
	for _, tt := range goldens {
		f.Add(cm.Append(nil, tt.m, 1))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, transaction, err := cm.Parse(b)
		if err != nil {
			return
		}
		if req, ok := m.(*cm.REQ); ok {
			if ip, _, err := cm.ParseIP(req.Private); err == nil {
				again, _, err := cm.ParseIP(ip.Append(nil))
				if err != nil || again != ip {
					t.Fatalf("addresses %+v, again %+v, %v", ip, again, err)
				}
			}
		}
		m2, transaction2, err := cm.Parse(cm.Append(nil, m, transaction))
		if err != nil || transaction2 != transaction {
			t.Fatalf("transaction %d, again %d, error %v", transaction, transaction2, err)
		}
		if diff := cmp.Diff(m, m2, addrs); diff != "" {
			t.Fatal(diff)
		}
	})
}
