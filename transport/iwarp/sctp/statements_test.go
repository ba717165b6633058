package sctp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// These tests prove statements of RFC 5043, draft-stewart-rddp-sctp-01 and RFC 6581 section 7 that
// no other test covers.

// owe delays acknowledgements until pay.
func (p *peer) owe() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owes = true
}

// pay acknowledges everything.
func (p *peer) pay() {
	p.mu.Lock()
	p.owes, p.owed = false, 0
	low := p.low
	p.mu.Unlock()
	if low != nil {
		low()
	}
}

// appendTo sends a segment of that many bytes.
func appendTo(t *testing.T, l ddp.LLP, n int) bool {
	t.Helper()
	header := unhex(t, sendSegment(1, ""))
	payload := ddp.Payload{List: listOf(string(make([]byte, n-len(header))))}
	return l.Append(header, &payload, n-len(header), 0)
}

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
			t.Errorf("%d messages are sent that nobody has acknowledged, want 16,384 to 32,767", n)
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

// TestSSNWraps: DDP-SSN 0 follows 65,535, on both sides (RFC 5043 section 5.2.1).
func TestSSNWraps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		const first, n = 1<<16 - 3, 6
		c := l.(*llp).Conn
		c.mu.Lock()
		c.ssn, c.next = first, first
		c.mu.Unlock()
		segment := sendSegment(1, "")
		got := new(sink)
		for i := first; i < first+n; i++ {
			if !appendTo(t, l, len(unhex(t, segment))) {
				t.Fatalf("there is no room for message %d", i)
			}
			want := fmt.Sprintf("0 16: %04x%x", i%(1<<16), unhex(t, segment))
			if sent := p.heard(); len(sent) != 1 || sent[0] != want {
				t.Fatalf("sent %q, want %q", sent, want)
			}
			p.says(0, ppidSegment, fmt.Sprintf("%04x", i%(1<<16))+segment)
			if err := l.Receive(got); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		if len(got.got) != n {
			t.Errorf("%d segments have come, want %d", len(got.got), n)
		}
		l.Close(false)
	})
}

// TestNoOvertaking: Terminate waits until the control message before it has been acknowledged, but
// does not wait for segments (RFC 5043 section 6.6).
func TestNoOvertaking(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, Config{}, false)
		p.says(0, ppidControl, "0000 0001")
		c := <-p.offered
		readFrame(t, c, false)
		p.owe()
		if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		l := c.LLP(time.Minute)
		l.Close(false)
		p.wantHeard("0 17: 00000002")
		p.pay()
		p.wantHeard("0 17: 00010004")
	})
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.owe()
		segment := unhex(t, sendSegment(1, ""))
		appendTo(t, l, len(segment))
		l.Close(false)
		p.wantHeard(fmt.Sprintf("0 16: 0001%x", segment), "0 17: 00020004")
		p.pay()
	})
}

// TestTwice: a duplicate DDP-SSN, while the first waits for earlier ones, ends the session (RFC
// 5043 section 10).
func TestTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.says(0, ppidSegment, "0003"+sendSegment(3, ""))
		p.says(0, ppidSegment, "0002"+sendSegment(2, ""))
		p.says(0, ppidSegment, "0003"+sendSegment(3, ""))
		synctest.Wait()
		if err := l.Receive(new(sink)); !errors.Is(err, ErrViolation) {
			t.Errorf("got error %v, want %v", err, ErrViolation)
		}
		l.Close(false)
		p.wantHeard("0 17: 00010004")
	})
}

// TestBehindTerminate: a message after the peer's Terminate ends the session at once, without
// waiting for what this side has to send (RFC 5043 sections 6.1 and 6.2).
func TestBehindTerminate(t *testing.T) {
	for name, message := range map[string]string{
		"a segment": "0002" + sendSegment(1, ""), "Initiate": "0000 0001", "Terminate": "0002 0004",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, l := accepted(t, Config{})
				p.says(0, ppidControl, "0001 0004")
				ppid := uint32(ppidControl)
				if name == "a segment" {
					ppid = ppidSegment
				}
				p.says(0, ppid, message)
				synctest.Wait()
				if err := l.Receive(new(sink)); !errors.Is(err, ErrViolation) {
					t.Errorf("got error %v, want %v", err, ErrViolation)
				}
				if n := p.cfg.Counters.Stats().Violations; n != 1 {
					t.Errorf("%d violations are counted, want 1", n)
				}
				l.Close(false)
				p.wantHeard("0 17: 00010004")
			})
		})
	}
}

// TestReuse: the side that asks reuses a stream only after both sides have ended its session and
// all has been acknowledged (RFC 5043 section 6.6). It prefers streams that were never used
// (draft-stewart-rddp-sctp-01 section 7.2).
func TestReuse(t *testing.T) {
	for _, draft := range []bool{false, true} {
		t.Run(fmt.Sprintf("draft %t", draft), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, Config{Draft: draft}, true)
				ended, last := uint32(ppidControl), "0001 0004"
				if draft {
					ended, last = ppidDraftSegment, "00000001"
				}
				open := func(want uint16) *Conn {
					t.Helper()
					c, err := p.a.open()
					if err != nil {
						t.Fatal(err)
					}
					if c.Stream() != want {
						t.Errorf("stream %d, want %d", c.Stream(), want)
					}
					if err := c.WriteFrame(&mpa.Frame{Revision: 1}); err != nil {
						t.Fatal(err)
					}
					if draft {
						if !appendTo(t, c.LLP(time.Minute), 18) {
							t.Error("there is no room")
						}
					} else {
						p.says(want, ppidControl, "0000 0002")
					}
					readFrame(t, c, true)
					return c
				}
				first, second := open(0), open(1)
				first.Close()
				p.says(0, ended, last)
				synctest.Wait()
				open(2)
				open(3)
				again := open(0)

				p.owe()
				second.Close()
				p.says(1, ended, last)
				synctest.Wait()
				if _, err := p.a.open(); !errors.Is(err, ErrNoStream) {
					t.Errorf("what is not acknowledged: got error %v, want %v", err, ErrNoStream)
				}
				p.pay()
				synctest.Wait()
				open(1)

				again.Close()
				synctest.Wait()
				if _, err := p.a.open(); !errors.Is(err, ErrNoStream) {
					t.Errorf("what the peer has not ended: got error %v, want %v", err, ErrNoStream)
				}
				p.says(0, ended, last)
				synctest.Wait()
				open(0)
			})
		})
	}
}

// TestDraftAborted: nothing from an aborted stream is placed or delivered until Reset. Then the
// stream works again (draft-stewart-rddp-sctp-01 section 7.2).
func TestDraftAborted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ordered bool
		ppid    uint32
		bytes   string
	}{
		{"an ordered message", true, ppidDraftSegment, sendSegment(1, "")},
		{"an unknown PPID", false, 51, "00"},
		{"a PPID of RFC 5043", false, ppidControl, "0000 0001"},
		{"an unknown function", false, ppidDraftControl, "00000002"},
		{"a function that is cut off", false, ppidDraftControl, "000001"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, l := accepted(t, Config{Draft: true})
				says := func(tsn, ppid uint32, unordered bool, message string) {
					p.saysMessage(lower.Message{
						PPID: ppid, Unordered: unordered, First: tsn, Last: tsn, Data: unhex(t, message),
					})
				}
				first := p.tsn + 1
				// waits for the wrong message
				says(first+1, ppidDraftSegment, true, sendSegment(1, "hi"))
				says(first, tt.ppid, !tt.ordered, tt.bytes)
				// would be placed at once
				says(first+3, ppidDraftSegment, true, writeSegment(2, "hi"))
				synctest.Wait()
				got := &sink{memory: make([]byte, 8)}
				for range 2 {
					if err := l.Receive(got); !errors.Is(err, ErrViolation) {
						t.Errorf("got error %v, want %v", err, ErrViolation)
					}
				}
				says(first+2, ppidDraftSegment, true, writeSegment(0, "hi"))
				p.tsn = first + 3
				synctest.Wait()
				if len(got.got) > 0 || !bytes.Equal(got.memory, make([]byte, 8)) {
					t.Errorf("delivered %q, placed %q", got.got, got.memory)
				}
				if appendTo(t, l, 18); len(p.heard()) > 0 {
					t.Error("a segment is sent all the same")
				}
				l.Close(false)
				p.wantHeard("0 1: 00000001")

				p.says(0, ppidDraftSegment, writeSegment(0, "")) // still the old session's
				p.says(0, ppidDraftControl, "00000001")
				synctest.Wait()
				select {
				case <-p.offered:
					t.Error("a session begins before the stream is reset")
				default:
				}
				p.says(0, ppidDraftSegment, sendSegment(1, "yo"))
				c := <-p.offered
				readFrame(t, c, false)
				if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
					t.Fatal(err)
				}
				l = c.LLP(time.Minute)
				if err := l.Receive(got); err != nil || len(got.got) != 1 {
					t.Errorf("on the stream that was reset: %q, %v", got.got, err)
				}
				l.Close(false)
			})
		})
	}
}

// TestAssociationEnds: when an association ends, the consumers of all its sessions are told (RFC
// 5043 section 11.3).
func TestAssociationEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, first := accepted(t, Config{})
		p.says(1, ppidControl, "0000 0001")
		c := <-p.offered
		readFrame(t, c, false)
		if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		p.says(2, ppidControl, "0000 0001")
		waits := <-p.offered
		readFrame(t, waits, false)
		p.wantHeard("1 17: 00000002")
		(*fakeAssociation)(p).Abort("")
		<-p.a.over
		for i, l := range []ddp.LLP{first, c.LLP(time.Minute)} {
			if err := l.Receive(new(sink)); err != io.EOF {
				t.Errorf("stream %d: got error %v, want that of the association", i, err)
			}
			l.Close(true)
		}
		if err := waits.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != io.EOF {
			t.Errorf("in its setup: got error %v, want that of the association", err)
		}
		waits.Close()
	})
}

// TestSameNumber: INIT and INIT ACK have equal numbers of outbound and inbound streams, on every
// association (RFC 5043 section 8).
func TestSameNumber(t *testing.T) {
	for _, streams := range []int{0, 1, 7, 1<<16 - 1} {
		cfg, err := Config{Streams: streams}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		want := streams
		if want == 0 {
			want = DefaultStreams
		}
		if i := cfg.initiation(); int(i.out) != want || i.out != i.in {
			t.Errorf("%d out, %d in, want %d each", i.out, i.in, want)
		}
		// What both sides may use is equal in both directions.
		for _, theirs := range []initiation{{out: 3, in: 5}, {out: 5, in: 3}} {
			if n := cfg.usable(cfg.initiation(), theirs); int(n) != min(want, 3) {
				t.Errorf("%d streams are used with %d out and %d in, want %d", n, theirs.out, theirs.in,
					min(want, 3))
			}
		}
	}
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
			synctest.Wait() // until nothing happens any more but by time
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
		l.heard.Store(time.Now().Add(time.Hour).UnixNano()) // nobody is asked whether he is there
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

// TestMostPending: at most maxPending sessions wait for Accept. Further ones are terminated, also
// enhanced ones (RFC 5043 section 6.4, RFC 6581 section 7).
func TestMostPending(t *testing.T) {
	l := newTestListener(t, Config{})
	d, err := NewDialer(Config{UDPPort: int(l.addr.UDPPort), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(f *mpa.Frame) *Conn {
		conn, err := d.DialContext(t.Context(), "sctp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.(*Conn).WriteFrame(f); err != nil {
			t.Fatal(err)
		}
		return conn.(*Conn)
	}
	for range maxPending {
		ask(&mpa.Frame{Revision: 1})
	}
	for deadline := time.Now().Add(30 * time.Second); len(l.ready) < maxPending; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions wait, want %d", len(l.ready), maxPending)
		}
	}
	enhanced := mpa.Frame{Revision: 2, Enhanced: true, PrivateData: unhex(t, "0010 0010")}
	for _, f := range []*mpa.Frame{{Revision: 1}, &enhanced} {
		if n, err := ask(f).ReadFrame(&mpa.Frame{Reply: true}); n != 0 || err != io.EOF {
			t.Errorf("one more: %d, %v, want Terminate", n, err)
		}
	}
	if n := l.cfg.Counters.Stats().Pending; n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
}

// TestOneAddress: INIT and INIT ACK list no addresses, so an endpoint has the one that its packets
// come from (RFC 5043 section 7.2). Both have the indication (section 5.1).
func TestOneAddress(t *testing.T) {
	s, _, sent := newTestSocket(t)
	init := s.cfg.initiation()
	p := header{src: 7, dst: 2}.append(nil)
	s.packet(seal(appendChunk(p, chunkInit, 0, init.append(nil))), linkPeer)
	if len(sent.sent) != 1 {
		t.Fatalf("sent %q, want an INIT ACK", sent.sent)
	}
	ack, _ := nextChunk(unhex(t, sent.sent[0])[headerLen:])
	if !ack.is(chunkInitAck) {
		t.Fatalf("sent %q, want an INIT ACK", sent.sent)
	}
	for name, c := range map[string]struct {
		value []byte
		kinds []uint16
	}{
		"INIT":     {init.append(nil), []uint16{paramAdaptation}},
		"INIT ACK": {ack.value(), []uint16{paramStateCookie, paramAdaptation}},
	} {
		var kinds []uint16
		for rest := c.value[initLen:]; len(rest) > 0; {
			q, next, ok := nextParameter(rest)
			if !ok {
				t.Fatalf("%s: %x", name, c.value)
			}
			if kinds = append(kinds, q.kind); q.kind == paramAdaptation &&
				binary.BigEndian.Uint32(q.value) != 1 {
				t.Errorf("%s: indication %x", name, q.value)
			}
			rest = next
		}
		if fmt.Sprint(kinds) != fmt.Sprint(c.kinds) {
			t.Errorf("%s has the parameters %x, want %x", name, kinds, c.kinds)
		}
	}
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
