package sctp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

// wantHeard waits until all goroutines are idle, and compares what has been sent.
func (p *peer) wantHeard(want ...string) {
	p.t.Helper()
	synctest.Wait()
	if d := cmp.Diff(want, p.heard()); d != "" {
		p.t.Errorf("sent (-want +got):\n%s", d)
	}
}

// readFrame reads a startup frame.
func readFrame(t testing.TB, c *Conn, reply bool) mpa.Frame {
	t.Helper()
	f := mpa.Frame{Reply: reply}
	if n, err := c.ReadFrame(&f); n != 1 || err != nil {
		t.Fatalf("ReadFrame: %d, %v", n, err)
	}
	return f
}

// sink records segments, and lends memory for tagged ones.
type sink struct {
	got    []string
	memory []byte // for tagged segments, by their offset
	hold   bool
}

func (s *sink) Segment(p []byte) error {
	if s.hold {
		return ddp.ErrHold
	}
	h, payload, err := ddp.Parse(p)
	if err != nil {
		return err
	}
	if h.Tagged && s.memory != nil {
		copy(s.memory[h.Offset:], payload)
	}
	s.got = append(s.got, fmt.Sprintf("%x", p))
	return nil
}

func (s *sink) Unfinished() (uint64, int) { return 0, 0 }
func (s *sink) Ready() bool               { return true }
func (s *sink) ExpectsMore() bool         { return false }
func (s *sink) Return()                   {}

func (s *sink) Lend(dst [][]byte, header []byte, n, _ int) ([][]byte, bool) {
	h, _, err := ddp.Parse(header)
	if err != nil || s.memory == nil {
		return dst, false
	}
	return append(dst, s.memory[h.Offset:][:n]), true
}

func (s *sink) Placed(header []byte, n int) error {
	h, _, err := ddp.Parse(header)
	if err != nil {
		return err
	}
	s.got = append(s.got, fmt.Sprintf("%x%x", header, s.memory[h.Offset:][:n]))
	return nil
}

// Segments written by hand: of a Send of two bytes with an MSN, and of an RDMA Write of two bytes
// to an offset (RFC 5041 sections 4.2 and 4.3, RFC 5040 section 4.3).
func sendSegment(msn int, payload string) string {
	return fmt.Sprintf("41 43 00000000 00000000 %08x 00000000 %x", msn, payload)
}

func writeSegment(offset int, payload string) string {
	return fmt.Sprintf("c1 40 00000007 %016x %x", offset, payload)
}

// TestAccepted plays a session that the peer asks for, byte by byte (RFC 5043 section 6.2).
func TestAccepted(t *testing.T) {
	for _, tt := range []struct {
		name           string
		ask, accept    string
		request, reply mpa.Frame
	}{
		{"RFC 5043", "0000 0001 7064", "2 17: 000000026f6b",
			mpa.Frame{Revision: 1, PrivateData: []byte("pd")},
			mpa.Frame{Reply: true, Revision: 1, PrivateData: []byte("ok")}},
		{"RFC 6581", "0000 0005 8010 4010 7064", "2 17: 00000006801080106f6b",
			mpa.Frame{Revision: 2, Enhanced: true, PrivateData: []byte("\x80\x10\x40\x10pd")},
			mpa.Frame{Reply: true, Revision: 2, Enhanced: true, PrivateData: []byte("\x80\x10\x80\x10ok")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, Config{}, false)
				p.says(2, ppidControl, tt.ask)
				c := <-p.offered
				if d := cmp.Diff(tt.request, readFrame(t, c, false)); d != "" {
					t.Errorf("request (-want +got):\n%s", d)
				}
				p.wantHeard()
				if err := c.WriteFrame(&tt.reply); err != nil {
					t.Fatal(err)
				}
				p.wantHeard(tt.accept)
				l := c.LLP(time.Minute)
				payload := ddp.Payload{List: listOf("hi")}
				if !l.Append(unhex(t, sendSegment(1, "")), &payload, 2, 0) {
					t.Error("there is no room")
				}
				p.wantHeard("2 16: 0001414300000000000000000000000100000000" + "6869")
				p.says(2, ppidSegment, "0001"+sendSegment(1, "yo"))
				var got sink
				if err := l.Receive(&got); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([]string{fmt.Sprintf("%x", unhex(t, sendSegment(1, "yo")))}, got.got); d != "" {
					t.Errorf("segments (-want +got):\n%s", d)
				}
				p.says(2, ppidControl, "0002 0004")
				if err := l.Receive(&got); err != io.EOF {
					t.Errorf("behind Terminate: got error %v, want %v", err, io.EOF)
				}
				l.Close(true)
				p.wantHeard("2 17: 00020004")

				// The stream is free for another session, which begins with DDP-SSN 0.
				p.says(2, ppidControl, tt.ask)
				c = <-p.offered
				readFrame(t, c, false)
				c.Close()
				p.wantHeard("2 17: 00000004")
			})
		})
	}
}

// TestSucceeded: a peer that has received our Terminate may at once ask for another session on the
// stream. Its request may arrive before its acknowledgement.
func TestSucceeded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, Config{}, false)
		p.says(0, ppidControl, "0000 0001")
		c := <-p.offered
		readFrame(t, c, false)
		if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		p.says(0, ppidControl, "0001 0004")
		p.wantHeard("0 17: 00000002")
		p.mu.Lock()
		p.owes = true
		p.mu.Unlock()
		c.Close()
		p.wantHeard("0 17: 00010004")
		p.says(0, ppidControl, "0000 0001")
		again := <-p.offered
		<-c.finished
		readFrame(t, again, false)
		if err := again.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		p.wantHeard("0 17: 00000002")
	})
}

// TestRejected: a Reject ends a session on both sides, and nothing follows it (RFC 5043 section
// 6.3).
func TestRejected(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, Config{}, false)
		p.says(0, ppidControl, "0000 0001")
		c := <-p.offered
		readFrame(t, c, false)
		if err := c.WriteFrame(&mpa.Frame{Reply: true, Reject: true, Revision: 1, PrivateData: []byte("no")}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(nil); err != io.EOF {
			t.Errorf("Read: got error %v, want %v", err, io.EOF)
		}
		c.Close()
		p.wantHeard("0 17: 000000036e6f")
		p.says(0, ppidControl, "0000 0001")
		readFrame(t, <-p.offered, false)
	})
}

// TestAsked plays sessions that this side asks for.
func TestAsked(t *testing.T) {
	for _, tt := range []struct {
		name     string
		enhanced bool
		answer   string
		want     mpa.Frame
		err      error
		last     []string
	}{
		{"accepted", false, "0000 0002 6f6b", mpa.Frame{Reply: true, Revision: 1, PrivateData: []byte("ok")},
			nil, []string{"0 17: 00010004"}},
		{"rejected", false, "0000 0003 6e6f", mpa.Frame{Reply: true, Reject: true, Revision: 1, PrivateData: []byte("no")},
			nil, nil},
		{"terminated", false, "0000 0004", mpa.Frame{}, io.EOF, []string{"0 17: 00010004"}},
		{"accepted, enhanced", true, "0000 0006 8010 8010",
			mpa.Frame{Reply: true, Enhanced: true, Revision: 2, PrivateData: []byte("\x80\x10\x80\x10")},
			nil, []string{"0 17: 00010004"}},
		{"rejected, enhanced", true, "0000 0007 8010 8010",
			mpa.Frame{Reply: true, Reject: true, Enhanced: true, Revision: 2, PrivateData: []byte("\x80\x10\x80\x10")},
			nil, nil},
		{"terminated, enhanced", true, "0000 0004", mpa.Frame{}, io.EOF, []string{"0 17: 00010004"}},
		{"enhanced without having been asked", false, "0000 0006 8010 8010", mpa.Frame{}, ErrViolation,
			[]string{"0 17: 00010004"}},
		{"not enhanced, though asked", true, "0000 0002", mpa.Frame{}, ErrViolation,
			[]string{"0 17: 00010004"}},
		{"rejected, enhanced without having been asked", false, "0000 0007 8010 8010", mpa.Frame{},
			ErrViolation, []string{"0 17: 00010004"}},
		{"rejected, not enhanced, though asked", true, "0000 0003", mpa.Frame{}, ErrViolation,
			[]string{"0 17: 00010004"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, Config{}, true)
				c, err := p.a.open()
				if err != nil {
					t.Fatal(err)
				}
				ask, sent := &mpa.Frame{Revision: 1, PrivateData: []byte("pd")}, "0 17: 000000017064"
				if tt.enhanced {
					ask = &mpa.Frame{Revision: 2, Enhanced: true, PrivateData: []byte("\x80\x10\x40\x10")}
					sent = "0 17: 0000000580104010"
				}
				if err := c.WriteFrame(ask); err != nil {
					t.Fatal(err)
				}
				p.wantHeard(sent)
				p.says(0, ppidControl, tt.answer)
				f := mpa.Frame{Reply: true}
				n, err := c.ReadFrame(&f)
				if !errors.Is(err, tt.err) || (err == nil) != (n == 1) {
					t.Fatalf("ReadFrame: %d, %v, want %v", n, err, tt.err)
				}
				if d := cmp.Diff(tt.want, f); err == nil && d != "" {
					t.Errorf("reply (-want +got):\n%s", d)
				}
				c.Close()
				p.wantHeard(tt.last...)
			})
		})
	}
}

// TestViolations has the peer violate the legal sequences. The session is terminated (RFC 5043
// section 6.1), and the others go on.
func TestViolations(t *testing.T) {
	control := func(s string) lower.Message {
		return lower.Message{PPID: ppidControl, Unordered: true, Data: unhex(t, s)}
	}
	segment := func(s string) lower.Message {
		return lower.Message{PPID: ppidSegment, Unordered: true, Data: unhex(t, s)}
	}
	ordered := control("0001 0004")
	ordered.Unordered = false
	for name, m := range map[string]lower.Message{
		"Initiate for the second time": control("0001 0001"),
		"Accept of the side that asks": control("0001 0002"),
		"Reject of the side that asks": control("0001 0003"),
		"an unknown function":          control("0001 0008"),
		"Terminate with private data":  control("0001 0004 00"),
		"a byte":                       control("00"),
		"nothing":                      control(""),
		"DDP-SSN 0 again":              control("0000 0004"),
		"a DDP-SSN of long ago":        segment("ffff" + sendSegment(1, "")),
		"half of all DDP-SSNs ahead":   segment("8001" + sendSegment(1, "")),
		"an ordered message":           ordered,
		"an unknown PPID":              {PPID: 51, Unordered: true, Data: []byte("text")},
		"a PPID of the draft":          {PPID: ppidDraftSegment, Unordered: true, Data: unhex(t, "0001"+sendSegment(1, ""))},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, Config{}, false)
				p.says(1, ppidControl, "0000 0001")
				other := <-p.offered
				readFrame(t, other, false)
				p.says(0, ppidControl, "0000 0001")
				c := <-p.offered
				readFrame(t, c, false)
				if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
					t.Fatal(err)
				}
				l := c.LLP(time.Minute)
				p.wantHeard("0 17: 00000002")
				p.saysMessage(m)
				if err := l.Receive(new(sink)); !errors.Is(err, ErrViolation) {
					t.Errorf("Receive: got error %v, want %v", err, ErrViolation)
				}
				l.Close(false)
				p.wantHeard("0 17: 00010004")
				if n := p.cfg.Counters.Stats().Violations; n != 1 {
					t.Errorf("%d violations are counted, want 1", n)
				}
				p.says(0, ppidControl, "0002 0001") // is ignored
				if err := other.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
					t.Errorf("on another stream: %v", err)
				}
				p.wantHeard("1 17: 00000002")
			})
		})
	}
}

// TestOrder receives segments in any order. They are delivered in the order of their DDP-SSNs, but
// the payload of RDMA Writes is placed at once.
func TestOrder(t *testing.T) {
	for _, draft := range []bool{false, true} {
		t.Run(fmt.Sprintf("draft %t", draft), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, l := accepted(t, Config{Draft: draft})
				const n = 50
				var want []string
				messages := make([]lower.Message, n)
				got := &sink{memory: make([]byte, 2*n)}
				for i := range n {
					s := sendSegment(i+1, fmt.Sprintf("%02d", i))
					if i%3 > 0 {
						s = writeSegment(2*i, fmt.Sprintf("%02d", i))
					}
					want = append(want, fmt.Sprintf("%x", unhex(t, s)))
					messages[i] = lower.Message{
						PPID: ppidSegment, Unordered: true, First: uint32(i) + p.tsn + 1,
						Data: unhex(t, fmt.Sprintf("%04x", i+1)+s),
					}
					if draft {
						messages[i].PPID, messages[i].Data = ppidDraftSegment, unhex(t, s)
					}
					messages[i].Last = messages[i].First
				}
				// The first comes last.
				rand.Shuffle(n-1, func(i, j int) {
					messages[i+1], messages[j+1] = messages[j+1], messages[i+1]
				})
				for _, m := range messages[1:] {
					p.saysMessage(m)
				}
				synctest.Wait()
				if err := l.Receive(got); err != nil {
					t.Fatal(err)
				}
				if len(got.got) > 0 {
					t.Errorf("delivered before the first has come: %q", got.got)
				}
				for i := range n {
					placed := bytes.Equal(got.memory[2*i:2*i+2], fmt.Appendf(nil, "%02d", i))
					if want := i%3 > 0; placed != want {
						t.Errorf("segment %d is placed before the first has come: %t, want %t", i, placed, want)
					}
				}
				p.saysMessage(messages[0])
				synctest.Wait()
				if err := l.Receive(got); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got.got); d != "" {
					t.Errorf("segments (-want +got):\n%s", d)
				}
				l.Close(false)
			})
		})
	}
}

// TestIndependence: a missing message delays its own stream only. In draft mode it delays all
// streams: they share the order of the association's TSNs.
func TestIndependence(t *testing.T) {
	for _, draft := range []bool{false, true} {
		t.Run(fmt.Sprintf("draft %t", draft), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, first := accepted(t, Config{Draft: draft})
				ppid, begin, ssn := uint32(ppidSegment), "0000 0001", "0001"
				if draft {
					ppid, begin, ssn = ppidDraftSegment, writeSegment(0, ""), ""
				}
				p.says(1, map[bool]uint32{false: ppidControl, true: ppidDraftSegment}[draft], begin)
				c := <-p.offered
				readFrame(t, c, false)
				if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
					t.Fatal(err)
				}
				second := c.LLP(time.Minute)
				if draft {
					if err := second.Receive(new(sink)); err != nil {
						t.Fatal(err)
					}
				}
				segment := unhex(t, ssn+sendSegment(1, "hi"))
				lost := lower.Message{
					Stream: 0, PPID: ppid, Unordered: true, First: p.tsn + 1, Last: p.tsn + 1, Data: segment,
				}
				came := lost
				came.Stream, came.First, came.Last = 1, p.tsn+2, p.tsn+2

				p.saysMessage(came)
				got := new(sink)
				received := make(chan error, 1)
				go func() {
					var err error
					for err == nil && len(got.got) == 0 {
						err = second.Receive(got)
					}
					received <- err
				}()
				synctest.Wait()
				if delivered := len(got.got) == 1; delivered == draft {
					t.Errorf("while another stream lacks something, delivered is %t, want %t",
						delivered, !draft)
				}
				p.saysMessage(lost)
				synctest.Wait()
				if err := <-received; err != nil || len(got.got) != 1 {
					t.Errorf("Receive: %v, %d segments, want 1", err, len(got.got))
				}
				first.Close(false)
				second.Close(false)
			})
		})
	}
}

// accepted returns a session that the peer has asked for, on stream 0.
func accepted(t *testing.T, cfg Config) (*peer, ddp.LLP) {
	t.Helper()
	p := newPeer(t, cfg, false)
	if cfg.Draft {
		p.says(0, ppidDraftSegment, writeSegment(0, ""))
	} else {
		p.says(0, ppidControl, "0000 0001")
	}
	c := <-p.offered
	readFrame(t, c, false)
	if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
		t.Fatal(err)
	}
	l := c.LLP(time.Minute)
	if cfg.Draft {
		if err := l.Receive(new(sink)); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	p.heard()
	return p, l
}

// TestOverrun has a consumer that stops. Its session ends, and the other streams go on.
func TestOverrun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.says(1, ppidControl, "0000 0001")
		other := <-p.offered
		for i := range DefaultStreamMemory/2048 + 1 {
			p.says(0, ppidSegment, fmt.Sprintf("%04x", i+1)+sendSegment(i+1, string(make([]byte, 1000))))
		}
		p.says(1, ppidControl, "0001 0004")
		readFrame(t, other, false)
		synctest.Wait()
		if n := p.cfg.Counters.Stats().Overruns; n != 1 {
			t.Errorf("%d overruns are counted, want 1", n)
		}
		var err error
		for got := new(sink); err == nil; {
			err = l.Receive(got)
		}
		if !errors.Is(err, ErrOverrun) {
			t.Errorf("got error %v, want %v", err, ErrOverrun)
		}
		l.Close(false)
		p.wantHeard("0 17: 00010004")
	})
}

// TestMemory: messages that wait for consumers take no more memory than their host may have, on all
// its streams together. In the end all of it is given back.
func TestMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, first := accepted(t, Config{Window: 64 << 10, StreamMemory: 64 << 10, Memory: 128 << 10})
		p.says(1, ppidControl, "0000 0001")
		c := <-p.offered
		readFrame(t, c, false)
		if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		second := c.LLP(time.Minute)
		n := 0 // messages that have come on stream 0, and on stream 1 behind a gap
		for range 64 << 10 / 2048 {
			segment := sendSegment(n+1, string(make([]byte, 1000)))
			p.says(0, ppidSegment, fmt.Sprintf("%04x", n+1)+segment)
			if synctest.Wait(); p.cfg.Counters.Stats().Overruns > 0 {
				break
			}
			p.says(1, ppidSegment, fmt.Sprintf("%04x", n+2)+segment)
			if n++; p.cfg.Counters.Stats().Overruns > 0 {
				break
			}
		}
		synctest.Wait()
		if n < 15 || n > 16 || p.cfg.Counters.Stats().Overruns != 1 {
			t.Errorf("%d messages of 2 KiB on each stream, %d overruns, want 16 and 1",
				n, p.cfg.Counters.Stats().Overruns)
		}
		first.Close(false)
		second.Close(false)
		(*fakeAssociation)(p).Abort("")
		<-p.a.over
		p.wantMemoryBack()
	})
}

// TestGap has a message missing for too long.
func TestGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.says(0, ppidSegment, "0002"+sendSegment(2, ""))
		began := time.Now()
		var err error
		for got := new(sink); err == nil; {
			err = l.Receive(got)
		}
		if took := time.Since(began); !errors.Is(err, ddp.ErrStalled) || took < time.Minute || took > 2*time.Minute {
			t.Errorf("got error %v after %v, want %v after a minute or more", err, took, ddp.ErrStalled)
		}
		l.Close(false)
	})
}

// TestHeld holds a segment until Resume, and ends with Interrupt.
func TestHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.says(0, ppidSegment, "0001"+sendSegment(1, "hi"))
		got := &sink{hold: true}
		synctest.Wait()
		if err := l.Receive(got); err != ddp.ErrHold {
			t.Fatalf("got error %v, want %v", err, ddp.ErrHold)
		}
		go func() {
			time.Sleep(time.Hour)
			l.Resume()
		}()
		if err := l.Hold(); err != nil {
			t.Error(err)
		}
		got.hold = false
		if err := l.Receive(got); err != nil || len(got.got) != 1 {
			t.Errorf("Receive: %v, %q", err, got.got)
		}
		go func() {
			time.Sleep(time.Hour)
			l.Interrupt()
		}()
		if err := l.Receive(got); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("interrupted: got error %v, want %v", err, os.ErrDeadlineExceeded)
		}
		l.Close(false)
	})
}

// TestDraftReset: the draft uses DDP Stream Reset instead of sessions (section 7.2). Reset is sent
// when all is acknowledged, and is accepted with either PPID.
func TestDraftReset(t *testing.T) {
	for _, ppid := range []uint32{ppidDraftSegment, ppidDraftControl} {
		bubble(t, func(t *testing.T) {
			p, l := accepted(t, Config{Draft: true})
			p.says(0, ppid, "00000001")
			if err := l.Receive(new(sink)); err != io.EOF {
				t.Errorf("behind Reset: got error %v, want %v", err, io.EOF)
			}
			payload := ddp.Payload{List: listOf("hi")}
			l.Append(unhex(t, sendSegment(1, "")), &payload, 2, 0)
			p.mu.Lock()
			p.owed = 1
			p.mu.Unlock()
			l.Close(false)
			p.wantHeard("0 1: 414300000000000000000000000100000000" + "6869")
			p.mu.Lock()
			p.owed = 0
			p.mu.Unlock()
			p.low()
			p.wantHeard("0 1: 00000001")
			p.says(0, ppidDraftSegment, writeSegment(0, ""))
			readFrame(t, <-p.offered, false)
		})
	}
}

// TestPending: a session that cannot be offered is terminated (RFC 5043 section 6.4).
func TestPending(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, Config{}, false)
		p.says(0, ppidControl, "0000 0001") // is not taken
		p.says(1, ppidControl, "0000 0001")
		p.wantHeard("1 17: 00000004")
		if n := p.cfg.Counters.Stats().Pending; n != 1 {
			t.Errorf("%d are counted, want 1", n)
		}
	})
}
