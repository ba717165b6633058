package capture

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A short frame: Ethernet, IPv4 of 42 bytes, TCP with "hi", four bytes of padding.
const frameHex = "000000000002" + "000000000001" + "0800" +
	"4500002a" + "00004000" + "40060000" + "c0000201" + "c0000202" +
	"03e84e51" + "01020304" + "05060708" + "5018ffff" + "00000000" + "6869" + "00000000"

func frame(t *testing.T) []byte {
	t.Helper()
	b, err := hex.DecodeString(frameHex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseFrame(t *testing.T) {
	got, err := parseFrame(frame(t))
	if err != nil {
		t.Fatal(err)
	}
	want := tcpSegment{from: active, to: passive, seq: 0x01020304, ack: true, payload: []byte("hi")}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tcpSegment{}, endpoint{})); diff != "" {
		t.Errorf("segment (-want +got):\n%s", diff)
	}
}

func TestParseFrameFails(t *testing.T) {
	const ip, tcp = etherLen, etherLen + ipMinLen
	for _, tt := range []struct {
		name  string
		at    int
		value byte
		want  error
	}{
		{"IPv6", 12, 0x86, errNotTCP},
		{"IP version", ip, 0x65, errNotTCP},
		{"UDP", ip + 9, 17, errNotTCP},
		{"more fragments", ip + 6, 0x20, errFragment},
		{"fragment offset", ip + 7, 1, errFragment},
		{"short IP header", ip, 0x44, errBadLength},
		{"IP header beyond the packet", ip, 0x4f, errBadLength},
		{"packet beyond the frame", ip + 3, 0x2f, errBadLength},
		{"short TCP header", tcp + 12, 0x40, errBadLength},
		{"TCP header beyond the packet", tcp + 12, 0x60, errBadLength},
		{"reset", tcp + 13, tcpRST, errReset},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := frame(t)
			b[tt.at] = tt.value
			if _, err := parseFrame(b); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	whole := frame(t)
	for n := range len(whole) - 4 {
		if _, err := parseFrame(whole[:n]); err == nil {
			t.Errorf("the first %d bytes: got no error", n)
		}
	}
}
