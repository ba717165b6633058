package sctp

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

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

				// Another session can use the stream. It begins with DDP-SSN 0.
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
