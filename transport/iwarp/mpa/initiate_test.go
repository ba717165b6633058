package mpa_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

func TestInitiate(t *testing.T) {
	both := mpa.Config{IRD: 16, ORD: 16}
	never := mpa.Config{IRD: 16, ORD: 16, Enhanced: mpa.EnhancedNever}
	manual := mpa.Config{IRD: 16, ORD: 16, ManualReads: true}
	p2p := mpa.Config{IRD: 16, ORD: 16, PeerToPeer: true}
	with := func(c mpa.Config, change func(*mpa.Config)) mpa.Config {
		change(&c)
		return c
	}
	unenhanced := func(change func(*mpa.Setup)) mpa.Setup {
		s := mpa.Setup{Setup: ddp.Setup{Initiator: true, Version: 1, IRD: 16, ORD: 8}, Revision: 1, PeerIRD: -1, PeerORD: -1}
		change(&s)
		return s
	}
	enhanced := func(ird, ord, peerIRD, peerORD int, rtr mpa.RTR) mpa.Setup {
		return mpa.Setup{
			Setup:    ddp.Setup{Initiator: true, Version: 1, IRD: ird, ORD: ord, RTR: rtr},
			Revision: 2, Enhanced: true, PeerIRD: peerIRD, PeerORD: peerORD, PeerToPeer: rtr != 0,
		}
	}
	for _, tt := range []struct {
		name    string
		cfg     mpa.Config
		private string
		request string
		reply   string
		want    mpa.Setup
	}{
		{"section 10, nothing enhanced wanted", never, "", "00 01 0000", "00 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"ORD below the guess for unenhanced peers", with(never, func(c *mpa.Config) { c.ORD = 3 }), "", "00 01 0000", "00 01 0000",
			unenhanced(func(s *mpa.Setup) { s.ORD = 3 })},
		{"section 6, S is reserved in revision 1", never, "", "00 01 0000", "10 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"section 6, reserved bits", never, "", "00 01 0000", "0f 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"private data, unenhanced", never, "abc", "00 01 0003 616263", "00 01 0002 6465", unenhanced(func(s *mpa.Setup) { s.PrivateData = []byte("de") })},
		{"private data, enhanced", both, "abc", "10 02 0007 00100010 616263", "10 02 0006 00100010 6465",
			func() mpa.Setup { s := enhanced(16, 16, 16, 16, 0); s.PrivateData = []byte("de"); return s }()},
		{"the most private data", never, strings.Repeat("x", 512), "00 01 0200" + strings.Repeat("78", 512), "00 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"the most private data, enhanced", both, strings.Repeat("x", 508), "10 02 0200 00100010" + strings.Repeat("78", 508),
			"10 02 0004 00100010", enhanced(16, 16, 16, 16, 0)},

		{"CRC, ours", with(never, func(c *mpa.Config) { c.CRC = true }), "", "40 01 0000", "40 01 0000", unenhanced(func(s *mpa.Setup) { s.CRC = true })},
		{"CRC, responder's", never, "", "00 01 0000", "40 01 0000", unenhanced(func(s *mpa.Setup) { s.CRC = true })},
		{"CRC, ours, not in the reply", with(never, func(c *mpa.Config) { c.CRC = true }), "", "40 01 0000", "00 01 0000",
			unenhanced(func(s *mpa.Setup) { s.CRC = true })},
		{"CRC, enhanced", with(both, func(c *mpa.Config) { c.CRC = true }), "", "50 02 0004 00100010", "50 02 0004 00100010",
			func() mpa.Setup { s := enhanced(16, 16, 16, 16, 0); s.CRC = true; return s }()},

		{"RFC 5044 section 7.1, markers, responder's", never, "", "00 01 0000", "80 01 0000", unenhanced(func(s *mpa.Setup) { s.MarkersOut = true })},
		{"markers, ours", with(never, func(c *mpa.Config) { c.Markers = mpa.MarkersOn }), "", "80 01 0000", "00 01 0000", unenhanced(func(s *mpa.Setup) { s.MarkersIn = true })},
		{"markers, both, enhanced", with(both, func(c *mpa.Config) { c.Markers = mpa.MarkersOn }), "", "90 02 0004 00100010", "90 02 0004 00100010",
			func() mpa.Setup { s := enhanced(16, 16, 16, 16, 0); s.MarkersIn, s.MarkersOut = true, true; return s }()},

		{"section 9.1, as asked", both, "", "10 02 0004 00100010", "10 02 0004 00100010", enhanced(16, 16, 16, 16, 0)},
		{"enhanced required", with(both, func(c *mpa.Config) { c.Enhanced = mpa.EnhancedRequired }), "", "10 02 0004 00100010", "10 02 0004 00100010",
			enhanced(16, 16, 16, 16, 0)},
		{"section 9.1, ORD at most the responder's IRD", both, "", "10 02 0004 00100010", "10 02 0004 000f0010", enhanced(16, 15, 15, 16, 0)},
		{"section 9.1, ORD below the responder's IRD", both, "", "10 02 0004 00100010", "10 02 0004 00200010", enhanced(16, 16, 32, 16, 0)},
		{"section 9.1, responder without reads", both, "", "10 02 0004 00100010", "10 02 0004 00000000", enhanced(16, 0, 0, 0, 0)},
		{"section 9.1, largest", mpa.Config{IRD: mpa.MaxReads, ORD: mpa.MaxReads}, "", "10 02 0004 3ffe3ffe", "10 02 0004 3ffe3ffe",
			enhanced(mpa.MaxReads, mpa.MaxReads, mpa.MaxReads, mpa.MaxReads, 0)},
		{"section 9.1, responder's IRD 0x3FFF", both, "", "10 02 0004 00100010", "10 02 0004 3fff0008", enhanced(16, 16, mpa.ReadsManual, 8, 0)},
		{"section 9.1, responder's ORD 0x3FFF", both, "", "10 02 0004 00100010", "10 02 0004 00083fff", enhanced(16, 8, 8, mpa.ReadsManual, 0)},
		{"section 9.1, ours 0x3FFF", manual, "", "10 02 0004 3fff3fff", "10 02 0004 3fff3fff", enhanced(16, 16, mpa.ReadsManual, mpa.ReadsManual, 0)},
		{"section 9.1, ours 0x3FFF, responder does not know it", manual, "", "10 02 0004 3fff3fff", "10 02 0004 00080080", enhanced(16, 16, 8, 128, 0)},

		{"section 9.2, Write before Read and Send", p2p, "", "10 02 0004 c010c010", "10 02 0004 c010c010", enhanced(16, 16, 16, 16, mpa.RTRWrite)},
		{"section 9.2, Read before Send", p2p, "", "10 02 0004 c010c010", "10 02 0004 c0104010", enhanced(16, 16, 16, 16, mpa.RTRRead)},
		{"section 9.2, Send", p2p, "", "10 02 0004 c010c010", "10 02 0004 c0100010", enhanced(16, 16, 16, 16, mpa.RTRSend)},
		{"section 9.2, the kinds we can send", with(p2p, func(c *mpa.Config) { c.RTR = mpa.RTRSend | mpa.RTRRead }), "", "10 02 0004 c0104010", "10 02 0004 c010c010",
			enhanced(16, 16, 16, 16, mpa.RTRRead)},
		{"section 9.2, only Send", with(p2p, func(c *mpa.Config) { c.RTR = mpa.RTRSend }), "", "10 02 0004 c0100010", "10 02 0004 c010c010",
			enhanced(16, 16, 16, 16, mpa.RTRSend)},
		{"section 9.2, only Write", with(p2p, func(c *mpa.Config) { c.RTR = mpa.RTRWrite }), "", "10 02 0004 80108010", "10 02 0004 c010c010",
			enhanced(16, 16, 16, 16, mpa.RTRWrite)},
		{"section 9.2, B, C and D without A", both, "", "10 02 0004 00100010", "10 02 0004 4010c010", enhanced(16, 16, 16, 16, 0)},
		{"draft-05 section 9, no kind", p2p, "", "10 02 0004 c010c010", "10 02 0004 80100010",
			func() mpa.Setup { s := enhanced(16, 16, 16, 16, mpa.RTRSend); s.AnySend = true; return s }()},
		{"section 9.1, Read as RTR with an ORD of 0", with(p2p, func(c *mpa.Config) { c.ORD = 0 }), "", "10 02 0004 c010c000", "10 02 0004 80014010",
			enhanced(16, 0, 1, 16, mpa.RTRRead)},
		{"section 9.1, no Read as RTR without an IRD", p2p, "", "10 02 0004 c010c010", "10 02 0004 c0004010", enhanced(16, 0, 0, 16, mpa.RTRSend)},
		{"section 9.1, Read as RTR with an IRD of 0x3FFF", p2p, "", "10 02 0004 c010c010", "10 02 0004 bfff4010", enhanced(16, 16, mpa.ReadsManual, 16, mpa.RTRRead)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, s, err := initiateTo(t, tt.cfg, []byte(tt.private), repFrame(t, tt.reply))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(reqFrame(t, tt.request), said); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&tt.want, s); diff != "" {
				t.Errorf("setup (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInitiateErrors(t *testing.T) {
	both := mpa.Config{IRD: 16, ORD: 16}
	never := mpa.Config{IRD: 16, ORD: 16, Enhanced: mpa.EnhancedNever}
	p2p := mpa.Config{IRD: 16, ORD: 16, PeerToPeer: true}
	required := mpa.Config{IRD: 16, ORD: 16, Enhanced: mpa.EnhancedRequired}
	onlyRead := mpa.Config{IRD: 16, ORD: 16, PeerToPeer: true, RTR: mpa.RTRRead}
	for _, tt := range []struct {
		name  string
		cfg   mpa.Config
		reply []byte
		want  failure
	}{
		{"section 10, closed without a reply", both, nil, failure{mpa.ErrUnenhanced, mpa.CodeLost, false}},
		{"section 10, closed without a reply, required", required, nil, failure{mpa.ErrUnenhanced, mpa.CodeLost, false}},
		{"closed without a reply, unenhanced", never, nil, failure{io.EOF, mpa.CodeLost, false}},
		{"section 10, unenhanced reply", both, repFrame(t, "00 02 0000"), failure{mpa.ErrUnenhanced, mpa.CodeFrame, true}},
		{"section 10, unenhanced reply of revision 1", both, repFrame(t, "00 01 0000"), failure{mpa.ErrUnenhanced, mpa.CodeFrame, true}},
		{"section 6, S is reserved in revision 1", both, repFrame(t, "10 01 0004 00100010"), failure{mpa.ErrUnenhanced, mpa.CodeFrame, true}},
		{"section 10, unenhanced reply, required", required, repFrame(t, "00 01 0000"), failure{mpa.ErrUnenhanced, mpa.CodeFrame, true}},

		{"another key", both, reqFrame(t, "10 02 0004 00100010"), failure{mpa.ErrFrame, mpa.CodeFrame, false}},
		{"another protocol", both, []byte("HTTP/1.1 400 Bad Request\r\n"), failure{mpa.ErrFrame, mpa.CodeFrame, false}},
		{"513 bytes", both, append(repFrame(t, "10 02 0201"), make([]byte, 513)...), failure{mpa.ErrFrame, mpa.CodeFrame, true}},
		{"513 bytes in a reject", both, append(repFrame(t, "30 02 0201"), make([]byte, 513)...), failure{mpa.ErrFrame, mpa.CodeFrame, false}},
		{"513 bytes, markers", both, append(repFrame(t, "90 02 0201"), make([]byte, 513)...), failure{mpa.ErrFrame, mpa.CodeFrame, true}},
		{"513 bytes, revision 0", both, append(repFrame(t, "c0 00 0201"), make([]byte, 513)...), failure{mpa.ErrFrame, mpa.CodeFrame, false}},
		{"section 6, S with 3 bytes", both, repFrame(t, "10 02 0003 001000"), failure{mpa.ErrFrame, mpa.CodeFrame, true}},
		{"section 6, S with 0 bytes", both, repFrame(t, "10 02 0000"), failure{mpa.ErrFrame, mpa.CodeFrame, true}},
		{"revision 0", never, repFrame(t, "c0 00 0000"), failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"revision 0 to an enhanced request", both, repFrame(t, "c0 00 0000"), failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"revision 2 to revision 1", never, repFrame(t, "00 02 0000"), failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"enhanced reply to revision 1", never, repFrame(t, "10 02 0004 00100010"), failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"revision 3", both, repFrame(t, "10 03 0004 00100010"), failure{mpa.ErrRevision, mpa.CodeFrame, false}},

		{"section 9.1, insufficient IRD", both, repFrame(t, "10 02 0004 00100011"), failure{mpa.ErrInsufficientIRD, mpa.CodeIRD, true}},
		{"section 9.1, no IRD", mpa.Config{ORD: 16}, repFrame(t, "10 02 0004 00100001"), failure{mpa.ErrInsufficientIRD, mpa.CodeIRD, true}},
		{"section 9.1, insufficient IRD, peer-to-peer", p2p, repFrame(t, "10 02 0004 80108011"), failure{mpa.ErrInsufficientIRD, mpa.CodeIRD, true}},
		{"section 9.2, no matching kind", onlyRead, repFrame(t, "10 02 0004 c0108010"), failure{mpa.ErrNoMatchingRTR, mpa.CodeRTR, true}},
		{"draft-05 section 9, no kind, where a Send cannot be sent", onlyRead, repFrame(t, "10 02 0004 80100010"), failure{mpa.ErrNoMatchingRTR, mpa.CodeRTR, true}},
		{"section 9.2, a Read without an IRD", onlyRead, repFrame(t, "10 02 0004 80004010"), failure{mpa.ErrNoMatchingRTR, mpa.CodeRTR, true}},
		{"section 9.2, A lost", p2p, repFrame(t, "10 02 0004 00108010"), failure{mpa.ErrConnectionModel, mpa.CodeRTR, true}},
		{"section 9.2, A unasked", both, repFrame(t, "10 02 0004 80108010"), failure{mpa.ErrConnectionModel, mpa.CodeRTR, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, s, err := initiateTo(t, tt.cfg, nil, tt.reply)
			if s != nil {
				t.Errorf("got setup %+v", s)
			}
			tt.want.check(t, err)
		})
	}
}

// The errors for the two ways in which a responder turns out to be unenhanced can be told apart.
func TestUnenhancedMessages(t *testing.T) {
	_, _, closed := initiateTo(t, mpa.Config{}, nil, nil)
	_, _, replied := initiateTo(t, mpa.Config{}, nil, repFrame(t, "00 01 0000"))
	if closed == nil || !strings.Contains(closed.Error(), "closed without a reply") {
		t.Errorf("closed: got %v", closed)
	}
	if replied == nil || !strings.Contains(replied.Error(), "unenhanced reply of revision 1") {
		t.Errorf("replied: got %v", replied)
	}
}

func TestInitiateRejected(t *testing.T) {
	both := mpa.Config{IRD: 16, ORD: 16}
	never := mpa.Config{IRD: 16, ORD: 16, Enhanced: mpa.EnhancedNever}
	for _, tt := range []struct {
		name, reply string
		cfg         mpa.Config
		want        mpa.RejectError
	}{
		{"bare", "20 01 0000", never, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
		{"private data", "20 01 0002 6e6f", never, mpa.RejectError{PrivateData: []byte("no"), PeerIRD: -1, PeerORD: -1}},
		{"section 9.1, IRD and ORD", "30 02 0006 00100004 6e6f", both, mpa.RejectError{PrivateData: []byte("no"), Enhanced: true, PeerIRD: 16, PeerORD: 4}},
		{"section 9.1, 0x3FFF", "30 02 0004 3fff3fff", both, mpa.RejectError{Enhanced: true, PeerIRD: mpa.ReadsManual, PeerORD: mpa.ReadsManual}},
		{"section 9.1, more ORD than our IRD", "30 02 0004 00100020", both, mpa.RejectError{Enhanced: true, PeerIRD: 16, PeerORD: 32}},
		{"another model", "30 02 0004 80108004", both, mpa.RejectError{Enhanced: true, PeerIRD: 16, PeerORD: 4}},
		{"unenhanced, to an enhanced request", "20 02 0002 6e6f", both, mpa.RejectError{PrivateData: []byte("no"), PeerIRD: -1, PeerORD: -1}},
		{"of revision 1, to an enhanced request", "30 01 0004 61626364", both, mpa.RejectError{PrivateData: []byte("abcd"), PeerIRD: -1, PeerORD: -1}},
		{"of revision 0", "e0 00 0000", both, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
		{"enhanced, unasked", "30 02 0004 61626364", never, mpa.RejectError{PrivateData: []byte("abcd"), PeerIRD: -1, PeerORD: -1}},
		{"S with 2 bytes", "30 02 0002 6e6f", both, mpa.RejectError{PrivateData: []byte("no"), PeerIRD: -1, PeerORD: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, s, err := initiateTo(t, tt.cfg, nil, repFrame(t, tt.reply))
			if s != nil {
				t.Errorf("got setup %+v", s)
			}
			var got *mpa.RejectError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a RejectError", err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Mistakes of the caller are found before anything is written.
func TestInitiateMistakes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     mpa.Config
		private int
		want    error
	}{
		{"private data", mpa.Config{Enhanced: mpa.EnhancedNever}, 513, transport.ErrPrivateData},
		{"private data, enhanced", mpa.Config{}, 509, transport.ErrPrivateData},
		{"configuration", mpa.Config{IRD: mpa.MaxReads + 1}, 0, mpa.ErrConfig},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, peer := mpa.TimedPipe()
			said := make(chan []byte)
			go func() {
				b, _ := io.ReadAll(peer)
				said <- b
			}()
			_, err := mpa.Initiate(conn, tt.cfg, make([]byte, tt.private))
			conn.Close()
			if b := mpa.Await(t, "the end of what is said", said); !errors.Is(err, tt.want) || len(b) > 0 {
				t.Errorf("got %v with %d bytes written, want %v", err, len(b), tt.want)
			}
		})
	}
}

// Nothing behind the reply is read: the responder's first FPDU may be there.
func TestInitiateLeavesTheRest(t *testing.T) {
	conn, peer := mpa.TimedPipe()
	go func() {
		_, _ = mpa.ReadFrame(peer, new(mpa.Frame))
		_, _ = peer.Write(append(repFrame(t, "10 02 0006 00100010 6162"), "FPDU"...))
		peer.Close()
	}()
	if _, err := mpa.Initiate(conn, mpa.Config{IRD: 16, ORD: 16}, nil); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(conn); err != nil || !bytes.Equal(rest, []byte("FPDU")) {
		t.Errorf("got %q, %v, want FPDU", rest, err)
	}
}
