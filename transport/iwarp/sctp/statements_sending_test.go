package sctp

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeastSegment: the smallest path takes segments of 516 bytes, and control messages with 512
// bytes of private data (RFC 5043 section 9).
func TestLeastSegment(t *testing.T) {
	for _, draft := range []bool{false, true} {
		cfg, err := Config{MTU: minMTU, Draft: draft}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		l := newLink(newSocket(cfg, nowhere{}), header{}, 1, 1, linkPeer)
		c := newConn(&association{cfg: cfg, lower: &pionAssociation{link: l}}, 0, true)
		if n := c.LLP(time.Minute).MaxSegment(); n < 516 {
			t.Errorf("draft %t: the largest segment has %d bytes, want 516 or more", draft, n)
		}
		m := control{initiate, make([]byte, maxPrivate)}
		if n := ssnLen + len(m.append(nil)); n > l.maxMessage() {
			t.Errorf("the longest control message has %d bytes, and the path takes %d", n, l.maxMessage())
		}
	}
	if _, err := (Config{MTU: minMTU - 1}).withDefaults(); !errors.Is(err, ErrConfig) {
		t.Errorf("with less: got error %v, want %v", err, ErrConfig)
	}
}

// TestLongSegment: a segment longer than the maximum is refused (RFC 5043 section 9).
func TestLongSegment(t *testing.T) {
	for _, draft := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			p, l := accepted(t, Config{Draft: draft})
			most := l.MaxSegment()
			if want := 1000 - map[bool]int{false: ssnLen}[draft]; most != want {
				t.Errorf("the largest segment has %d bytes, want %d", most, want)
			}
			appendTo(t, l, most)
			if _, err := l.Flush(); err != nil || len(p.heard()) != 1 {
				t.Errorf("draft %t: a segment of %d bytes is not sent: %v", draft, most, err)
			}
			appendTo(t, l, most+1)
			if _, err := l.Flush(); !errors.Is(err, errLong) || len(p.heard()) != 0 {
				t.Errorf("draft %t: a segment of %d bytes: got error %v, want %v", draft, most+1, err, errLong)
			}
			l.Close(false)
		})
	}
}

// TestMostUnacknowledged: at most 32,767 messages of a stream are unacknowledged, however short
// they are (RFC 5043 section 10).
func TestMostUnacknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.owe()
		fill := func() (n int) {
			for appendTo(t, l, len(unhex(t, sendSegment(1, "")))) {
				if n++; n > 1<<16 {
					t.Fatal("there is no end of room")
				}
			}
			return n
		}
		if n := fill(); n > 1<<15-1 || n < 1<<14 {
			t.Errorf("%d unacknowledged messages, want 16,384 to 32,767", n)
		}
		p.pay()
		if empty, err := l.Flush(); !empty || err != nil {
			t.Errorf("there is room: %t, %v", empty, err)
		}
		p.owe()
		if n := fill(); n > 1<<15-1 || n < 1<<14 {
			t.Errorf("then %d, want 16,384 to 32,767", n)
		}
		p.pay()
		l.Close(false)
	})
}

// TestSent: a message is sent at once, in a packet of its own, unordered, and whole (RFC 5043
// sections 10 and 11.2).
func TestSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, sent := newTestLink(t)
		ours := initiation{tag: 4, window: DefaultWindow, out: 2, in: 2, tsn: 1}
		p, err := associate(l, ours, initiation{tag: 3, window: DefaultWindow, out: 2, in: 2, tsn: 1})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var want []string
		for i, m := range []struct {
			stream uint16
			ppid   uint32
			bytes  string
		}{
			{0, ppidSegment, "0000" + sendSegment(1, "hi")},
			{1, ppidSegment, "0001" + writeSegment(0, "hi")},
			{1, ppidDraftSegment, sendSegment(1, "")},
			{0, ppidDraftSegment, writeSegment(0, strings.Repeat("x", 300))},
		} {
			data := unhex(t, m.bytes)
			if err := p.Send(m.stream, m.ppid, data); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // until only time can change anything
			packet := header{src: 1, dst: 2, tag: 3}.append(nil)
			const wholeUnordered = "07"
			chunk := unhex(t, fmt.Sprintf("00 %s %04x %08x %04x 0000 %08x", wholeUnordered,
				dataHeaderLen+len(data), 1+i, m.stream, m.ppid))
			packet = append(packet, pad(append(chunk, data...), 0)...)
			want = append(want, fmt.Sprintf("%x", seal(packet)))
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("that took %v, want no time", took)
		}
		if fmt.Sprint(sent.sent) != fmt.Sprint(want) {
			t.Errorf("sent %q, want %q", sent.sent, want)
		}
		p.Abort("")
	})
}

// TestWatchPath: a change of the path MTU is noticed, and the next segment has the new length (RFC
// 5043 section 9, draft-stewart-rddp-sctp-01 section 5.1).
func TestWatchPath(t *testing.T) {
	if packetMTU(netip.MustParseAddrPort("127.0.0.1:9899")) == 0 {
		t.Skip("this system does not tell what a path takes")
	}
	cfg, err := Config{KeepAlive: time.Millisecond, Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l := newLink(newSocket(cfg, nowhere{}), header{}, 1, 1,
		path{peer: netip.MustParseAddrPort("127.0.0.1:9899")})
	most := l.maxMessage()
	llp := newConn(&association{cfg: cfg, lower: &pionAssociation{link: l}}, 0, true).LLP(time.Minute)
	l.mtu.Store(600)
	if n, want := llp.MaxSegment(), 600-headerLen-dataHeaderLen-ssnLen; n != want {
		t.Errorf("the largest segment has %d bytes, want %d", n, want)
	}
	watch := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(watch)
		p := pionAssociation{link: l}
		l.heard.Store(time.Now().Add(time.Hour).UnixNano()) // so that no heartbeat is sent
		p.Watch(done)
	}()
	for deadline := time.Now().Add(30 * time.Second); llp.MaxSegment() != most-ssnLen; {
		if time.Now().After(deadline) {
			t.Fatalf("the largest segment has %d bytes, want %d", llp.MaxSegment(), most-ssnLen)
		}
		runtime.Gosched()
	}
	close(done)
	<-watch
}

// TestNotDelayed: a message is handed up when it arrives, before it is acknowledged, even if an
// earlier one is missing (RFC 5043 section 10, draft-stewart-rddp-sctp-01 section 6.1).
func TestNotDelayed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, sent := newTestLink(t)
		p, err := associate(l, initiation{tag: 4, window: DefaultWindow, out: 2, in: 2, tsn: 1},
			initiation{tag: 3, window: DefaultWindow, out: 2, in: 2, tsn: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Abort("")
		for i, tsn := range []uint32{1, 3} { // 2 is missing
			l.take(unhex(t, fmt.Sprintf("00 07 0014 %08x 0001 0000 00000010 000%d 0203", tsn, i)), linkPeer)
			m, err := p.Receive(make([]byte, messageSize))
			if err != nil || m.Stream != 1 || m.First != tsn || !m.Unordered || m.PPID != 16 ||
				!bytes.Equal(m.Data, []byte{0, byte(i), 2, 3}) {
				t.Errorf("got %+v, %v", m, err)
			}
			if synctest.Wait(); i == 0 && len(sent.sent) > 0 { // the acknowledgement takes time
				t.Errorf("sent %q, want nothing as yet", sent.sent)
			}
		}
	})
}
