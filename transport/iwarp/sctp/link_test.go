package sctp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
)

// recorder is a packetConn that keeps what is sent.
type recorder struct {
	nowhere
	sent []string // in hexadecimal
}

func (r *recorder) send(p []byte, _ path) error {
	r.sent = append(r.sent, fmt.Sprintf("%x", p))
	return nil
}

// newTestLink returns a link with two streams, and what it sends.
func newTestLink(t *testing.T) (*link, *recorder) {
	t.Helper()
	cfg, err := Config{MTU: 1000}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	sent := new(recorder)
	l := newLink(newSocket(cfg, sent), header{src: 1, dst: 2, tag: 3}, 4, 2, linkPeer)
	t.Cleanup(func() { l.Close() })
	return l, sent
}

var linkPeer = path{peer: netip.MustParseAddrPort("192.0.2.1:9899")}

// TestPeerAborts: what the peer says in an ABORT is why the association has ended. There is no answer
// to it.
func TestPeerAborts(t *testing.T) {
	l, sent := newTestLink(t)
	l.take(unhex(t, "0600 000c 000c 0006 6f6f 0000"), linkPeer)
	_, err := l.Read(make([]byte, pionPacket))
	p := pionAssociation{link: l}
	want := AbortError{`cause 12: "oo"`}
	for _, err := range []error{err, p.why(net.ErrClosed)} {
		var got *AbortError
		if !errors.As(err, &got) || *got != want {
			t.Errorf("got error %v, want %v", err, &want)
		}
	}
	if len(sent.sent) > 0 {
		t.Errorf("sent %q", sent.sent)
	}
}

// TestPeerShutsDown: pion/sctp closes the link, and then fails with what Read says.
func TestPeerShutsDown(t *testing.T) {
	l, _ := newTestLink(t)
	l.Close()
	_, err := l.Read(make([]byte, pionPacket))
	p := pionAssociation{link: l}
	if got := p.why(err); got != io.EOF {
		t.Errorf("got error %v, want %v", got, io.EOF)
	}
}

// TestInvalidStream has a DATA chunk on a stream that there is not: it is acknowledged, by pion/sctp,
// and an ERROR says what is wrong (RFC 9260 section 6.5).
func TestInvalidStream(t *testing.T) {
	l, sent := newTestLink(t)
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
			l.take(unhex(t, fmt.Sprintf(data, tt.stream)), linkPeer)
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
