package sctp

import (
	"fmt"
	"net/netip"
	"testing"
)

// recorder is a packetConn that keeps what is sent.
type recorder struct {
	nowhere
	sent []string // in hexadecimal
}

func (r *recorder) WriteToUDPAddrPort(p []byte, _ netip.AddrPort) (int, error) {
	r.sent = append(r.sent, fmt.Sprintf("%x", p))
	return len(p), nil
}

// TestInvalidStream has a DATA chunk on a stream that there is not: it is acknowledged, by pion/sctp,
// and an ERROR says what is wrong (RFC 9260 section 6.5).
func TestInvalidStream(t *testing.T) {
	cfg, err := Config{MTU: 1000}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	sent := new(recorder)
	to := netip.MustParseAddrPort("192.0.2.1:9899")
	l := newLink(newSocket(cfg, sent), header{src: 1, dst: 2, tag: 3}, 4, 2, to)
	defer l.Close()
	const data = "00 07 0014 00000009 %04x 0000 00000010 00010203" // U, B and E
	for _, tt := range []struct {
		stream int
		error  string
	}{
		{1, ""},
		{2, "0001 0002 00000003 00000000 0900 000c 0001 0008 0002 0000"},
		{0xffff, "0001 0002 00000003 00000000 0900 000c 0001 0008 ffff 0000"},
	} {
		t.Run(fmt.Sprint(tt.stream), func(t *testing.T) {
			sent.sent = nil
			l.take(unhex(t, fmt.Sprintf(data, tt.stream)), to)
			switch {
			case tt.error == "" && len(sent.sent) > 0:
				t.Errorf("sent %q", sent.sent)
			case tt.error != "":
				want := fmt.Sprintf("%x", seal(unhex(t, tt.error)))
				if len(sent.sent) != 1 || sent.sent[0] != want {
					t.Errorf("sent %q, want %q", sent.sent, want)
				}
			}
			if n, err := l.Read(make([]byte, pionPacket)); n == 0 || err != nil {
				t.Errorf("for pion/sctp there are %d bytes, error %v", n, err)
			}
		})
	}
}
