package sctp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorder is a packetConn that records what is sent.
type recorder struct {
	nowhere

	mu   sync.Mutex // guards the fields below, while pion/sctp sends
	sent []string   // in hexadecimal
}

func (r *recorder) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent[len(r.sent)-1]
}

func (r *recorder) send(p []byte, _ path) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, fmt.Sprintf("%x", p))
	return nil
}

// newTestLink returns a link with two streams, and a recorder of what it sends.
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

// TestPeerAborts: the reason in an ABORT becomes the error of the association. ABORT is not
// answered.
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

// TestPeerShutsDown: pion/sctp closes the link, and then fails with the error of Read.
func TestPeerShutsDown(t *testing.T) {
	l, _ := newTestLink(t)
	l.Close()
	_, err := l.Read(make([]byte, pionPacket))
	p := pionAssociation{link: l}
	if got := p.why(err); got != io.EOF {
		t.Errorf("got error %v, want %v", got, io.EOF)
	}
}

// TestInvalidStream has DATA chunks for streams that do not exist. They are acknowledged, and
// those of a packet reported by one ERROR (RFC 9260 section 6.5).
func TestInvalidStream(t *testing.T) {
	const data = "00 07 0014 %08x %04x 0000 00000010 00010203" // U, B and E
	for _, tt := range []struct {
		streams []int
		causes  string
	}{
		{[]int{1}, ""},
		{[]int{2}, "0001 0008 0002 0000"},
		{[]int{0xffff}, "0001 0008 ffff 0000"},
		{[]int{1, 2, 3, 0}, "0001 0008 0002 0000 0001 0008 0003 0000"},
		{make400(9), strings.Repeat("0001 0008 0009 0000", (1000-16)/8)}, // what a packet takes
	} {
		t.Run(fmt.Sprint(len(tt.streams), tt.streams[0]), func(t *testing.T) {
			l, sent := newTestLink(t)
			var packet string
			for i, stream := range tt.streams {
				packet += fmt.Sprintf(data, i+1, stream)
			}
			l.take(unhex(t, packet), linkPeer)
			l.readAll(t)
			sack := appendChunk(header{src: 1, dst: 2, tag: 3}.append(nil), chunkSack, 0,
				unhex(t, fmt.Sprintf("%08x %08x 0000 0000", len(tt.streams), l.in.window())))
			want := []string{fmt.Sprintf("%x", seal(sack))}
			if tt.causes != "" {
				p := appendChunk(header{src: 1, dst: 2, tag: 3}.append(nil), chunkError, 0,
					unhex(t, tt.causes))
				want = append(want, fmt.Sprintf("%x", seal(p)))
			}
			if l.in.delayed(); !slices.Equal(sent.sent, want) && !slices.Equal(reversed(sent.sent), want) {
				t.Errorf("sent %q, want %q in any order", sent.sent, want)
			}
			for i, stream := range tt.streams {
				if m, ok := l.in.receive(make([]byte, 4)); !ok || int(m.Stream) != stream {
					t.Fatalf("message %d: %+v, %t", i, m, ok)
				}
			}
		})
	}
}

func make400(stream int) []int { return slices.Repeat([]int{stream}, 400) }

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// readAll reads all packets that wait, and returns the chunks for pion/sctp of each.
func (l *link) readAll(t *testing.T) (packets []string) {
	t.Helper()
	p := make([]byte, pionPacket)
	for l.waiting() > 0 {
		q, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		if n := l.read(p, q); n > headerLen {
			packets = append(packets, fmt.Sprintf("%x", p[headerLen:n]))
		}
	}
	return packets
}

// TestPathMTU: after the path MTU has become smaller, messages are smaller, and packets that
// pion/sctp had already made are split (RFC 5043 section 9).
func TestPathMTU(t *testing.T) {
	l, sent := newTestLink(t)
	if got, want := l.maxMessage(), 1000-headerLen-dataHeaderLen; got != want {
		t.Errorf("a message has %d bytes at most, want %d", got, want)
	}
	l.mtu.Store(600)
	if got, want := l.maxMessage(), 600-headerLen-dataHeaderLen; got != want {
		t.Errorf("then a message has %d bytes at most, want %d", got, want)
	}
	data := func(tsn, n int) []byte {
		p := unhex(t, fmt.Sprintf("00 07 %04x %08x 0000 0000 00000010", dataHeaderLen+n, tsn))
		return pad(append(p, bytes.Repeat([]byte{byte(tsn)}, n)...), 0)
	}
	chunks := [][]byte{data(1, 200), data(2, 301), data(3, 200), data(4, 900)}
	packet := make([]byte, headerLen)
	for _, c := range chunks {
		packet = append(packet, c...)
	}
	if n, err := l.Write(packet); n != len(packet) || err != nil {
		t.Errorf("Write: %d, %v", n, err)
	}
	var want []string
	for _, some := range [][][]byte{chunks[:2], chunks[2:3], chunks[3:]} {
		p := header{src: 1, dst: 2, tag: 3}.append(nil)
		for _, c := range some {
			p = append(p, c...)
		}
		want = append(want, fmt.Sprintf("%x", seal(p)))
	}
	if d := cmp.Diff(want, sent.sent); d != "" {
		t.Errorf("sent (-want +got):\n%s", d)
	}
}

// TestHasten: session control messages, and no others, ask for immediate acknowledgement.
func TestHasten(t *testing.T) {
	l, sent := newTestLink(t)
	packet := make([]byte, headerLen)
	want := header{src: 1, dst: 2, tag: 3}.append(nil)
	for _, c := range []struct {
		ppid, n, flags int
	}{
		{ppidSegment, 4, 7}, {ppidControl, 4, 0xf}, {ppidSegment, 40, 7},
		{ppidDraftSegment, resetLen, 0xf}, {ppidDraftSegment, 20, 7}, {ppidControl, 512, 0xf},
	} {
		data := fmt.Sprintf("%04x 00000001 0000 0000 %08x %0*x", dataHeaderLen+c.n, c.ppid, 2*c.n, 0)
		packet = append(packet, unhex(t, "00 07"+data)...)
		want = append(want, unhex(t, fmt.Sprintf("00 %02x", c.flags)+data)...)
	}
	if _, err := l.Write(packet); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{fmt.Sprintf("%x", seal(want))}, sent.sent); d != "" {
		t.Errorf("sent (-want +got):\n%s", d)
	}
}

// TestSilentPeer: a peer that is silent gets HEARTBEATs, and after three times KeepAlive an ABORT.
// One that says anything lives (RFC 9260 sections 8.1 and 8.3).
func TestSilentPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, sent := newTestLink(t)
		p, err := associate(l, initiation{tag: 4, window: DefaultWindow, out: 2, in: 2, tsn: 1},
			initiation{tag: 3, window: DefaultWindow, out: 2, in: 2, tsn: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Abort("")
		done := make(chan struct{})
		defer close(done)
		go p.Watch(done)
		wantSent := func(want ...string) { // the types of the chunks sent so far
			t.Helper()
			synctest.Wait()
			sent.mu.Lock()
			defer sent.mu.Unlock()
			var kinds []string
			for _, packet := range sent.sent {
				kinds = append(kinds, packet[2*headerLen:2*headerLen+2])
			}
			if d := cmp.Diff(want, kinds); d != "" {
				t.Fatalf("sent (-want +got):\n%s", d)
			}
		}
		const unknown = "80 00 0004" // a chunk to skip
		for range 4 * DefaultKeepAlive / time.Second {
			time.Sleep(time.Second)
			l.take(unhex(t, unknown), linkPeer)
		}
		wantSent()
		time.Sleep(3 * DefaultKeepAlive)
		wantSent("04", "04")
		time.Sleep(DefaultKeepAlive)
		wantSent("04", "04", "06")
		abort := appendAbort(header{src: 1, dst: 2, tag: 3}.append(nil), 0, causeUserAbort,
			"the peer does not answer")
		if got, want := sent.last(), fmt.Sprintf("%x", seal(abort)); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
		if _, err := p.Receive(make([]byte, messageSize)); err != ErrGone {
			t.Errorf("got error %v, want %v", err, ErrGone)
		}
	})
}

func (l *link) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.Len()
}
