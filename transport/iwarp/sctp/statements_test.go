package sctp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
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
					t.Errorf("unacknowledged stream: got error %v, want %v", err, ErrNoStream)
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
				// Waits for the wrong message.
				says(first+1, ppidDraftSegment, true, sendSegment(1, "hi"))
				says(first, tt.ppid, !tt.ordered, tt.bytes)
				// Would be placed at once.
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

				p.says(0, ppidDraftSegment, writeSegment(0, "")) // for the old session
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
