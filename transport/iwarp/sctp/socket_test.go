package sctp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newTestSocket returns a socket with SCTP port 2 and a link to linkPeer, and a recorder of what it
// sends.
func newTestSocket(t *testing.T) (*socket, *link, *recorder) {
	t.Helper()
	cfg, err := Config{MTU: 1000, Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	sent := new(recorder)
	s := newSocket(cfg, sent)
	s.port = 2
	s.admits = func(netip.Addr, bool) bool { return true }
	s.opened = func(*link, *cookie, func()) { t.Error("an association was made") }
	l := newLink(s, header{src: 2, dst: 1, tag: 0x33333333}, 0x44444444, 2, linkPeer)
	s.add(l)
	t.Cleanup(func() { l.Close() })
	return s, l, sent
}

// TestForged: packets that are not from the association's peer do not change it. They are answered
// as RFC 9260 section 8.4 says.
func TestForged(t *testing.T) {
	const (
		right, wrong = 0x44444444, 0x55555555
		data         = "00 07 0014 00000009 0000 0000 00000010 00010203"
		abort        = "06 00 0004"
		reflected    = "06 01 0004"
		shutdown     = "07 00 0008 00000001"
	)
	other := path{peer: netip.MustParseAddrPort("192.0.2.7:9899")}
	for _, tt := range []struct {
		name   string
		from   path
		tag    uint32
		src    uint16
		chunks string
		answer string // with the tag of the packet
	}{
		{"DATA from another host", other, right, 1, data, reflected},
		{"DATA with another tag", linkPeer, wrong, 1, data, reflected},
		{"DATA from another port", linkPeer, right, 3, data, reflected},
		{"DATA without a tag", linkPeer, 0, 1, data, ""},
		{"SHUTDOWN with another tag", linkPeer, wrong, 1, shutdown, reflected},
		{"ABORT from another host", other, right, 1, abort, ""},
		{"ABORT with another tag", linkPeer, wrong, 1, abort, ""},
		{"ABORT with our tag as the one that we send", linkPeer, right, 1, reflected, ""},
		{"ABORT with the tag that we send, from another host", other, 0x33333333, 1, reflected, ""},
		{"SHUTDOWN COMPLETE with another tag", linkPeer, wrong, 1, "0e 00 0004", ""},
		{"SHUTDOWN ACK with another tag", linkPeer, wrong, 1, "08 00 0004", "0e 01 0004"},
		{"INIT ACK that nobody asked for", linkPeer, wrong, 1,
			"02 00 0014 00000001 00100000 0001 0001 00000001", ""},
		{"INIT with a tag", linkPeer, right, 1, "01 00 0014 00000001 00100000 0001 0001 00000001", ""},
		{"INIT in front of something", linkPeer, 0, 1,
			"01 00 0014 00000001 00100000 0001 0001 00000001" + data, ""},
		{"COOKIE ECHO of nothing", linkPeer, right, 1, "0a 00 0004", ""},
		{"COOKIE ECHO of zeros", linkPeer, right, 1,
			fmt.Sprintf("0a 00 0044 %0128x", 0), ""},
		{"nothing", linkPeer, right, 1, "", ""},
		{"a chunk of no length", linkPeer, right, 1, "00 00 0000", ""},
		{"a chunk longer than its packet", linkPeer, right, 1, "00 07 0020 00000009", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, l, sent := newTestSocket(t)
			h := header{src: tt.src, dst: 2, tag: tt.tag}
			s.packet(seal(append(h.append(nil), unhex(t, tt.chunks)...)), tt.from)
			var want []string
			if tt.answer != "" {
				back := header{src: 2, dst: tt.src, tag: tt.tag}
				want = []string{fmt.Sprintf("%x", seal(append(back.append(nil), unhex(t, tt.answer)...)))}
			}
			if fmt.Sprint(sent.sent) != fmt.Sprint(want) {
				t.Errorf("sent %q, want %q", sent.sent, want)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.closed || l.queue.Len() > 0 || l.to != linkPeer {
				t.Errorf("closed %t, %d packets for pion/sctp, peer %v", l.closed, l.queue.Len(), l.to)
			}
		})
	}
	t.Run("a wrong checksum", func(t *testing.T) {
		s, l, sent := newTestSocket(t)
		p := seal(append(header{src: 1, dst: 2, tag: right}.append(nil), unhex(t, data)...))
		p[len(p)-1]++
		s.packet(p, linkPeer)
		if n := s.cfg.Counters.Stats().BadPackets; n != 1 || l.waiting() > 0 || len(sent.sent) > 0 {
			t.Errorf("%d are counted, want 1; %d packets for pion/sctp; sent %q", n, l.waiting(), sent.sent)
		}
	})
}

// TestRefused: an INIT that gets no association is answered with an ABORT that says why, and is
// counted.
func TestRefused(t *testing.T) {
	const good = "00000009 00100000 0001 0001 00000001"
	for _, tt := range []struct {
		name  string
		dst   uint16
		init  string
		cause uint16
		text  string
		count Stats
	}{
		{"to a port that nobody has", 3, good, causeUserAbort, "nobody listens", Stats{}},
		{"malformed, to a port that nobody has", 3, "00000009 00100000 0000 0001 00000001",
			causeUserAbort, "nobody listens", Stats{}},
		{"malformed", 2, "00000009 00100000 0000 0001 00000001", causeProtocolViolation,
			"INIT without streams", Stats{BadPackets: 1}},
		{"with another indication", 2, good + "c006 0008 00000002", causeUserAbort,
			"the peer indicates SCTP adaptation DDP+RDMA, want DDP", Stats{Indications: 1}},
		{"from a host that is not admitted", 2, good + "c006 0008 00000001", causeOutOfResource, "",
			Stats{Refused: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _, sent := newTestSocket(t)
			s.admits = func(netip.Addr, bool) bool { return false }
			p := header{src: 7, dst: tt.dst}.append(nil)
			s.packet(seal(appendChunk(p, chunkInit, 0, unhex(t, tt.init))), linkPeer)
			abort := appendAbort(header{src: tt.dst, dst: 7, tag: 9}.append(nil), 0, tt.cause, tt.text)
			want := fmt.Sprintf("%x", seal(abort))
			if len(sent.sent) != 1 || sent.sent[0] != want {
				t.Errorf("sent %q, want %s", sent.sent, want)
			}
			if got := s.cfg.Counters.Stats(); got != tt.count {
				t.Errorf("counted %+v, want %+v", got, tt.count)
			}
		})
	}
}

// TestAnswerSizes: before a peer has shown that it receives at its address, it gets no more than
// three times the bytes that it sends, as UDP payload.
func TestAnswerSizes(t *testing.T) {
	const good = "00000009 00100000 0001 0001 00000001"
	for _, tt := range []struct {
		name, chunk string
		answer      int // bytes
	}{
		{"INIT", "0100 001c" + good + "c006 0008 00000001", 108},
		{"INIT with parameters to report", "0100 00dc" + good + "c006 0008 00000001" +
			strings.Repeat("c0aa 0004", 48), 108 + 8*48},
		{"INIT without an indication", "0100 0014" + good, 72},
		{"INIT without streams", "0100 0014 00000009 00100000 0000 0001 00000001", 40},
		{"COOKIE ECHO", "0a00 0008 00000000", 0},
		{"DATA out of the blue", "0007 0014 00000009 0000 0000 00000010 00010203", 16},
		{"SHUTDOWN ACK out of the blue", "0800 0004", 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _, sent := newTestSocket(t)
			var tag uint32
			if !strings.HasPrefix(tt.chunk, "01") {
				tag = 0x55555555
			}
			p := append(header{src: 7, dst: 2, tag: tag}.append(nil), unhex(t, tt.chunk)...)
			s.packet(seal(p), linkPeer)
			n := 0
			for _, answer := range sent.sent {
				n += len(answer) / 2
			}
			if n != tt.answer || n > 3*len(p) {
				t.Errorf("%d bytes are answered by %d, want %d, and no more than three times as many",
					len(p), n, tt.answer)
			}
		})
	}
}

// TestStaleCookie: a cookie returned too late is answered with ERROR (RFC 9260 section 5.2.6).
func TestStaleCookie(t *testing.T) {
	s, _, sent := newTestSocket(t)
	now := time.Now()
	s.bakery.now = func() time.Time { return now }
	some := initiation{tag: 1, window: 1 << 20, out: 1, in: 1, tsn: 1}
	baked := s.bakery.bake(&cookie{from: linkPeer.peer, src: 7, dst: 2, ours: some, theirs: some})
	now = now.Add(cookieLife + time.Millisecond)
	echo := appendChunk(header{src: 7, dst: 2, tag: 1}.append(nil), chunkCookieEcho, 0, baked)
	s.packet(seal(echo), linkPeer)
	want := unhex(t, "0002 0007 00000001 00000000 0900 000c 0003 0008 00000000")
	if len(sent.sent) != 1 || sent.sent[0] != fmt.Sprintf("%x", seal(want)) {
		t.Errorf("sent %q, want %x", sent.sent, want)
	}
}

// TestStaleCookieAgain: a side whose cookie is stale begins again, and gets a new one (RFC 9260
// section 5.2.6). In other states, an ERROR changes nothing.
func TestStaleCookieAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _, sent := newTestSocket(t)
		made := make(chan error, 1)
		var l *link
		go func() {
			var err error
			l, _, _, err = s.connect(t.Context(), linkPeer, 7, 2)
			made <- err
		}()
		var tag uint32 // of this side
		wantSent := func(want chunkType, value string) {
			t.Helper()
			synctest.Wait()
			p := unhex(t, sent.last())
			c, _ := nextChunk(p[headerLen:])
			if !c.is(want) || value != "" && string(c.value()) != value {
				t.Fatalf("sent %x last, want a chunk of type %d with %q", p, want, value)
			}
			if want == chunkInit {
				tag = binary.BigEndian.Uint32(c.value())
			}
		}
		answer := func(kind chunkType, value []byte) {
			p := appendChunk(header{src: 2, dst: 7, tag: tag}.append(nil), kind, 0, value)
			s.packet(seal(p), linkPeer)
		}
		stale := parameter{causeStaleCookie, []byte{0, 0, 0, 1}}.append(nil)
		ack := initiation{tag: 9, window: 1 << 20, out: 1, in: 1, tsn: 1, indication: DDP}
		wantSent(chunkInit, "")
		answer(chunkError, stale)
		ack.cookie = []byte("old")
		answer(chunkInitAck, ack.append(nil))
		wantSent(chunkCookieEcho, "old")
		answer(chunkSack, unhex(t, "00000001 00100000 0000 0000")) // waits for pion/sctp, in vain
		answer(chunkError, stale)
		wantSent(chunkInit, "")
		ack.cookie = []byte("new")
		answer(chunkInitAck, ack.append(nil))
		wantSent(chunkCookieEcho, "new")
		answer(chunkCookieAck, nil)
		if err := <-made; err != nil {
			t.Fatal(err)
		}
		if !s.queued.Fits(l.host, maxQueued) {
			t.Error("packets are counted when none wait")
		}
		l.Close()
	})
}

// TestCrowdedSocket: the number of waiting packets is bounded for each association, for each host
// and for the socket, and each association gets some.
func TestCrowdedSocket(t *testing.T) {
	s, l, _ := newTestSocket(t)
	links := []*link{l}
	for i := range 20 {
		l := newLink(s, header{src: 2, dst: 1, tag: 1}, uint32(i+1), 2, linkPeer)
		t.Cleanup(func() { l.Close() })
		links = append(links, l)
	}
	sack := unhex(t, "03 00 0010 00000001 00100000 0000 0000")
	for _, l := range links {
		for range 2 * maxQueue {
			l.take(bytes.Clone(sack), linkPeer)
		}
		if n := l.waiting(); n < fairQueue || n > maxQueue {
			t.Errorf("%d packets of an association wait, want %d to %d", n, fairQueue, maxQueue)
		}
	}
	waiting := 0
	for _, l := range links {
		waiting += l.waiting()
	}
	const most = maxQueued / 2
	if n := waiting - fairQueue*len(links); n != most {
		t.Errorf("%d packets wait beyond %d of each, want %d", n, fairQueue, most)
	}
	other := newLink(s, header{src: 2, dst: 1, tag: 1}, 100, 2,
		path{peer: netip.MustParseAddrPort("192.0.2.2:9899")})
	for range 2 * maxQueue {
		other.take(bytes.Clone(sack), linkPeer)
	}
	if n := other.waiting(); n != maxQueue {
		t.Errorf("%d packets of another host wait, want %d", n, maxQueue)
	}
	links = append(links, other)
	for i, l := range links {
		if i%2 == 0 {
			l.Close()
			continue
		}
		for l.waiting() > 0 {
			if _, err := l.next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !s.queued.Fits(l.host, maxQueued) {
		t.Error("packets are counted when none wait")
	}
}
