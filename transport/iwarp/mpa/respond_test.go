package mpa_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

func TestAccept(t *testing.T) {
	both := mpa.Config{IRD: 16, ORD: 16}
	with := func(change func(*mpa.Config)) mpa.Config {
		c := both
		change(&c)
		return c
	}
	// These do not vary in most tests.
	unenhanced := func(change func(*mpa.Setup)) mpa.Setup {
		s := mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: 16, ORD: 8}, Revision: 1, PeerIRD: -1, PeerORD: -1}
		change(&s)
		return s
	}
	enhanced := func(ird, ord, peerIRD, peerORD int) mpa.Setup {
		return mpa.Setup{Setup: ddp.Setup{Version: 1, IRD: ird, ORD: ord}, Revision: 2, Enhanced: true, PeerIRD: peerIRD, PeerORD: peerORD}
	}
	p2p := func(ird, ord, peerIRD, peerORD int, rtr mpa.RTR) mpa.Setup {
		s := enhanced(ird, ord, peerIRD, peerORD)
		s.PeerToPeer, s.RTR = true, rtr
		return s
	}
	for _, tt := range []struct {
		name    string
		request string
		cfg     mpa.Config
		private string
		reply   string
		want    mpa.Setup
	}{
		// RFC 6581 section 10: an unenhanced request gets an unenhanced response.
		{"section 10, unenhanced", "00 01 0000", both, "", "00 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"section 10, unenhanced, enhanced required", "00 01 0000", with(func(c *mpa.Config) { c.Enhanced = mpa.EnhancedRequired }), "",
			"00 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"section 10, unenhanced, enhanced never", "00 01 0000", with(func(c *mpa.Config) { c.Enhanced = mpa.EnhancedNever }), "",
			"00 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"section 10, unenhanced, of revision 2", "00 02 0000", both, "", "00 02 0000", unenhanced(func(s *mpa.Setup) { s.Revision = 2 })},
		{"section 10, unenhanced, of revision 2, enhanced never", "00 02 0000", with(func(c *mpa.Config) { c.Enhanced = mpa.EnhancedNever }), "",
			"00 02 0000", unenhanced(func(s *mpa.Setup) { s.Revision = 2 })},
		{"section 10, unenhanced, manual reads", "00 01 0000", mpa.Config{IRD: 16, ORD: 4, ManualReads: true}, "",
			"00 01 0000", unenhanced(func(s *mpa.Setup) { s.ORD = 4 })},
		{"section 10, unenhanced, required ORD", "00 01 0000", with(func(c *mpa.Config) { c.RequiredORD = 16 }), "",
			"00 01 0000", unenhanced(func(*mpa.Setup) {})},
		{"section 6, S is reserved in revision 1", "10 01 0004 00080004", both, "", "00 01 0000",
			unenhanced(func(s *mpa.Setup) { s.PrivateData = []byte{0, 8, 0, 4} })},
		{"section 6, reserved bits", "1f 02 0004 00080004", both, "", "10 02 0004 00100008", enhanced(16, 8, 8, 4)},
		{"private data, unenhanced", "00 01 0003 616263", both, "defg", "00 01 0004 64656667",
			unenhanced(func(s *mpa.Setup) { s.PrivateData = []byte("abc") })},
		{"private data, enhanced", "10 02 0007 00080004 616263", both, "defg", "10 02 0008 00100008 64656667",
			func() mpa.Setup { s := enhanced(16, 8, 8, 4); s.PrivateData = []byte("abc"); return s }()},

		// CRC is used if either side wants it, and then the reply says so.
		{"CRC, initiator's", "40 01 0000", both, "", "40 01 0000", unenhanced(func(s *mpa.Setup) { s.CRC = true })},
		{"CRC, responder's", "00 01 0000", with(func(c *mpa.Config) { c.CRC = true }), "", "40 01 0000", unenhanced(func(s *mpa.Setup) { s.CRC = true })},
		{"CRC, both", "40 01 0000", with(func(c *mpa.Config) { c.CRC = true }), "", "40 01 0000", unenhanced(func(s *mpa.Setup) { s.CRC = true })},
		{"CRC, enhanced", "50 02 0004 00080004", both, "", "50 02 0004 00100008",
			func() mpa.Setup { s := enhanced(16, 8, 8, 4); s.CRC = true; return s }()},

		{"RFC 5044 section 7.1, markers, initiator's", "80 01 0000", both, "", "00 01 0000", unenhanced(func(s *mpa.Setup) { s.MarkersOut = true })},
		{"markers, responder's", "00 01 0000", with(func(c *mpa.Config) { c.Markers = mpa.MarkersOn }), "", "80 01 0000",
			unenhanced(func(s *mpa.Setup) { s.MarkersIn = true })},
		{"markers, both, enhanced", "90 02 0004 00080004", with(func(c *mpa.Config) { c.Markers = mpa.MarkersOn }), "", "90 02 0004 00100008",
			func() mpa.Setup { s := enhanced(16, 8, 8, 4); s.MarkersIn, s.MarkersOut = true, true; return s }()},

		{"section 9.1, IRD covers the initiator's ORD", "10 02 0004 00100010", both, "", "10 02 0004 00100010", enhanced(16, 16, 16, 16)},
		{"section 9.1, IRD that cannot", "10 02 0004 00100011", both, "", "10 02 0004 00100010", enhanced(16, 16, 16, 17)},
		{"section 9.1, ORD at most the initiator's IRD", "10 02 0004 000f0010", both, "", "10 02 0004 0010000f", enhanced(16, 15, 15, 16)},
		{"section 9.1, ORD below the initiator's IRD", "10 02 0004 00200010", both, "", "10 02 0004 00100010", enhanced(16, 16, 32, 16)},
		{"section 9.1, nothing", "10 02 0004 00000000", both, "", "10 02 0004 00100000", enhanced(16, 0, 0, 0)},
		{"section 9.1, largest", "10 02 0004 3ffe3ffe", mpa.Config{IRD: mpa.MaxReads, ORD: mpa.MaxReads}, "",
			"10 02 0004 3ffe3ffe", enhanced(mpa.MaxReads, mpa.MaxReads, mpa.MaxReads, mpa.MaxReads)},
		{"section 9.1, initiator's ORD 0x3FFF", "10 02 0004 00083fff", both, "", "10 02 0004 3fff0008", enhanced(16, 8, 8, mpa.ReadsManual)},
		{"section 9.1, initiator's IRD 0x3FFF", "10 02 0004 3fff0004", both, "", "10 02 0004 00103fff", enhanced(16, 16, mpa.ReadsManual, 4)},
		{"section 9.1, both 0x3FFF", "10 02 0004 3fff3fff", both, "", "10 02 0004 3fff3fff", enhanced(16, 16, mpa.ReadsManual, mpa.ReadsManual)},
		{"section 9.1, ours 0x3FFF", "10 02 0004 00080004", with(func(c *mpa.Config) { c.ManualReads = true }), "",
			"10 02 0004 3fff3fff", enhanced(16, 16, 8, 4)},
		{"section 9.1, the required ORD", "10 02 0004 00040000", with(func(c *mpa.Config) { c.RequiredORD = 4 }), "",
			"10 02 0004 00100004", enhanced(16, 4, 4, 0)},
		{"section 9.1, a required ORD against 0x3FFF", "10 02 0004 3fff0000", with(func(c *mpa.Config) { c.RequiredORD = 4 }), "",
			"10 02 0004 00103fff", enhanced(16, 16, mpa.ReadsManual, 0)},

		{"section 9.2, every kind", "10 02 0004 c008c004", both, "", "10 02 0004 c010c008", p2p(16, 8, 8, 4, mpa.RTRSend|mpa.RTRWrite|mpa.RTRRead)},
		{"section 9.2, B", "10 02 0004 c0080004", both, "", "10 02 0004 c0100008", p2p(16, 8, 8, 4, mpa.RTRSend)},
		{"section 9.2, C", "10 02 0004 80088004", both, "", "10 02 0004 80108008", p2p(16, 8, 8, 4, mpa.RTRWrite)},
		{"section 9.2, D", "10 02 0004 80084004", both, "", "10 02 0004 80104008", p2p(16, 8, 8, 4, mpa.RTRRead)},
		{"section 9.2, those of the offered that we take", "10 02 0004 c008c004", with(func(c *mpa.Config) { c.RTR = mpa.RTRSend | mpa.RTRRead }), "",
			"10 02 0004 c0104008", p2p(16, 8, 8, 4, mpa.RTRSend|mpa.RTRRead)},
		{"section 9.2, none of the offered", "10 02 0004 80088004", with(func(c *mpa.Config) { c.RTR = mpa.RTRSend | mpa.RTRRead }), "",
			"10 02 0004 c0104008", p2p(16, 8, 8, 4, mpa.RTRSend|mpa.RTRRead)},
		{"section 9.2, A without a kind", "10 02 0004 80080004", both, "", "10 02 0004 c010c008", p2p(16, 8, 8, 4, mpa.RTRSend|mpa.RTRWrite|mpa.RTRRead)},
		{"section 9.2, B, C and D without A", "10 02 0004 4008c004", both, "", "10 02 0004 00100008", enhanced(16, 8, 8, 4)},
		{"section 9.2, peer-to-peer is not the responder's to ask for", "10 02 0004 00080004", with(func(c *mpa.Config) { c.PeerToPeer = true }), "",
			"10 02 0004 00100008", enhanced(16, 8, 8, 4)},
		{"section 9.1, Read as RTR where the initiator's ORD is 0", "10 02 0004 80084000", mpa.Config{IRD: 1, ORD: 16}, "",
			"10 02 0004 80014008", p2p(1, 8, 8, 0, mpa.RTRRead)},
		{"section 9.1, no Read as RTR without an IRD", "10 02 0004 c008c001", mpa.Config{ORD: 16}, "",
			"10 02 0004 c0008008", p2p(0, 8, 8, 1, mpa.RTRSend|mpa.RTRWrite)},
		{"section 9.1, nothing but a Read offered, and no IRD", "10 02 0004 80084001", mpa.Config{ORD: 16}, "",
			"10 02 0004 c0008008", p2p(0, 8, 8, 1, mpa.RTRSend|mpa.RTRWrite)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, s, err := acceptFrom(t, reqFrame(t, tt.request), tt.cfg, []byte(tt.private))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(repFrame(t, tt.reply), said); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&tt.want, s); diff != "" {
				t.Errorf("setup (-want +got):\n%s", diff)
			}
		})
	}
}

// Requests that Accept does not accept.
func TestAcceptRefuses(t *testing.T) {
	both := mpa.Config{IRD: 16, ORD: 16, RequiredORD: 4}
	never := mpa.Config{IRD: 16, ORD: 16, Enhanced: mpa.EnhancedNever}
	for _, tt := range []struct {
		name    string
		request string
		cfg     mpa.Config
		reply   string // empty if there is none
		want    failure
	}{
		{"section 9.1, required ORD", "10 02 0007 00030004 616263", both, "30 02 0004 00100004", failure{mpa.ErrInsufficientIRD, mpa.CodeIRD, false}},
		{"section 9.1, required ORD, no IRD at all", "10 02 0004 00003fff", both, "30 02 0004 3fff0004", failure{mpa.ErrInsufficientIRD, mpa.CodeIRD, false}},
		{"section 9.1, required ORD, peer-to-peer", "50 02 0004 80038004", both, "70 02 0004 80108004", failure{mpa.ErrInsufficientIRD, mpa.CodeIRD, false}},
		{"section 10, enhanced request, unenhanced responder", "10 02 0004 00080004", never, "", failure{mpa.ErrEnhanced, mpa.CodeFrame, false}},
		{"revision 0", "c0 00 0000", both, "60 01 0000", failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"revision 0, S is reserved", "d0 00 0004 00080004", both, "60 01 0000", failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"revision 0, unenhanced only", "d0 00 0004 00080004", never, "60 01 0000", failure{mpa.ErrRevision, mpa.CodeFrame, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, s, err := acceptFrom(t, reqFrame(t, tt.request), tt.cfg, []byte("not for a reject of ours"))
			if s != nil {
				t.Errorf("got setup %+v", s)
			}
			tt.want.check(t, err)
			want := []byte{}
			if tt.reply != "" {
				want = repFrame(t, tt.reply)
			}
			if diff := cmp.Diff(want, said); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReject(t *testing.T) {
	both := mpa.Config{IRD: 16, ORD: 16, RequiredORD: 4}
	for _, tt := range []struct {
		name, request string
		cfg           mpa.Config
		private       string
		reply         string
	}{
		{"unenhanced", "00 01 0000", both, "", "20 01 0000"},
		{"private data", "00 01 0003 616263", both, "no", "20 01 0002 6e6f"},
		{"revision 2", "00 02 0000", both, "", "20 02 0000"},
		{"CRC", "40 01 0000", both, "", "60 01 0000"},
		{"section 10, enhanced", "10 02 0004 00080004", both, "no", "30 02 0006 00100008 6e6f"},
		{"section 9.1, too small an IRD", "10 02 0004 00030004", both, "", "30 02 0004 00100004"},
		{"section 9.1, 0x3FFF", "10 02 0004 3fff3fff", both, "", "30 02 0004 3fff3fff"},
		{"section 9.2, peer-to-peer", "10 02 0004 8008c004", both, "", "30 02 0004 8010c008"},
		{"nothing set", "10 02 0004 80088004", mpa.Config{}, "", "30 02 0004 80008000"},
		{"markers", "80 01 0000", both, "no", "20 01 0002 6e6f"},
		{"revision 0", "c0 00 0000", both, "no", "60 01 0002 6e6f"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := answerTo(t, reqFrame(t, tt.request), func(conn net.Conn) {
				r, err := mpa.ReadRequest(conn)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Reject(tt.cfg, []byte(tt.private)); err != nil {
					t.Errorf("Reject: %v", err)
				}
			})
			if diff := cmp.Diff(repFrame(t, tt.reply), said); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}

// Section 10: an unenhanced responder does not even reject an enhanced request.
func TestRejectUnenhanced(t *testing.T) {
	said := answerTo(t, reqFrame(t, "10 02 0004 00080004"), func(conn net.Conn) {
		r, err := mpa.ReadRequest(conn)
		if err != nil {
			t.Fatal(err)
		}
		failure{mpa.ErrEnhanced, mpa.CodeFrame, false}.check(t, r.Reject(mpa.Config{Enhanced: mpa.EnhancedNever}, nil))
	})
	if len(said) > 0 {
		t.Errorf("got reply %x, want none", said)
	}
}

func TestReadRequestErrors(t *testing.T) {
	bad := failure{mpa.ErrFrame, mpa.CodeFrame, false}
	for _, tt := range []struct {
		name string
		in   []byte
		want failure
	}{
		{"closed", nil, failure{io.EOF, mpa.CodeLost, false}},
		{"closed within", []byte("MPA ID Req Fr"), failure{io.ErrUnexpectedEOF, mpa.CodeLost, false}},
		{"another protocol", []byte("\x16\x03\x01"), bad},
		{"a reply", repFrame(t, "00 01 0000"), bad},
		{"513 bytes", reqFrame(t, "00 01 0201"), bad},
		{"revision 3", reqFrame(t, "00 03 0000"), bad},
		{"revision 255, enhanced", reqFrame(t, "10 ff 0004 00080004"), bad},
		{"revision 3 by name", reqFrame(t, "00 03 0000"), failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"section 6, S with 0 bytes", reqFrame(t, "10 02 0000"), bad},
		{"section 6, S with 1 byte", reqFrame(t, "10 02 0001 00"), bad},
		{"section 6, S with 3 bytes", reqFrame(t, "10 02 0003 000000"), bad},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, peer := mpa.TimedPipe()
			go func() {
				_, _ = peer.Write(tt.in)
				peer.Close()
			}()
			r, err := mpa.ReadRequest(conn)
			conn.Close()
			if r != nil {
				t.Errorf("got request %+v", r)
			}
			tt.want.check(t, err)
		})
	}
}

// What a caller can see of a request before it answers.
func TestRequest(t *testing.T) {
	type seen struct {
		Private                     string
		Revision, IRD, ORD          int
		Enhanced, CRC, Markers, P2P bool
		RTR                         mpa.RTR
	}
	for _, tt := range []struct {
		name, in string
		want     seen
	}{
		{"bare", "00 01 0000", seen{Revision: 1, IRD: -1, ORD: -1}},
		{"private data", "00 01 0003 616263", seen{Private: "abc", Revision: 1, IRD: -1, ORD: -1}},
		{"revision 0", "c0 00 0000", seen{Revision: 0, IRD: -1, ORD: -1, CRC: true, Markers: true}},
		{"S in revision 1", "10 01 0004 61626364", seen{Private: "abcd", Revision: 1, IRD: -1, ORD: -1}},
		{"enhanced", "10 02 0006 00080004 6162", seen{Private: "ab", Revision: 2, Enhanced: true, IRD: 8, ORD: 4}},
		{"manual", "10 02 0004 3fff3fff", seen{Revision: 2, Enhanced: true, IRD: mpa.ReadsManual, ORD: mpa.ReadsManual}},
		{"peer-to-peer", "10 02 0004 c0088004", seen{Revision: 2, Enhanced: true, IRD: 8, ORD: 4, P2P: true, RTR: mpa.RTRSend | mpa.RTRWrite}},
		{"flags without A", "10 02 0004 4008c004", seen{Revision: 2, Enhanced: true, IRD: 8, ORD: 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answerTo(t, reqFrame(t, tt.in), func(conn net.Conn) {
				r, err := mpa.ReadRequest(conn)
				if err != nil {
					t.Fatal(err)
				}
				got := seen{string(r.PrivateData()), r.Revision(), r.PeerIRD(), r.PeerORD(), r.Enhanced(), r.CRC(), r.Markers(), r.PeerToPeer(), r.RTR()}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// After a mistake of the caller nothing is written, and the request can still be answered. A second
// answer is such a mistake.
func TestAnswerAfterMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, request string
		limit         int
		wantReply     string
	}{
		{"unenhanced", "00 01 0000", 512, "00 01 0200"},
		{"enhanced", "10 02 0004 00080004", 508, "10 02 0200 00100008"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			private := []byte(strings.Repeat("x", tt.limit+1))
			said := answerTo(t, reqFrame(t, tt.request), func(conn net.Conn) {
				r, err := mpa.ReadRequest(conn)
				if err != nil {
					t.Fatal(err)
				}
				cfg := mpa.Config{IRD: 16, ORD: 16}
				if _, err := r.Accept(cfg, private); !errors.Is(err, transport.ErrPrivateData) {
					t.Errorf("Accept: got %v, want ErrPrivateData", err)
				}
				if err := r.Reject(cfg, private); !errors.Is(err, transport.ErrPrivateData) {
					t.Errorf("Reject: got %v, want ErrPrivateData", err)
				}
				if _, err := r.Accept(mpa.Config{IRD: -1}, nil); !errors.Is(err, mpa.ErrConfig) {
					t.Errorf("Accept: got %v, want ErrConfig", err)
				}
				if err := r.Reject(mpa.Config{RTR: mpa.RTRRead}, nil); !errors.Is(err, mpa.ErrConfig) {
					t.Errorf("Reject: got %v, want ErrConfig", err)
				}
				if _, err := r.Accept(cfg, private[1:]); err != nil {
					t.Errorf("Accept: %v", err)
				}
				if _, err := r.Accept(cfg, nil); err != mpa.ErrAnswered {
					t.Errorf("second Accept: got %v, want ErrAnswered", err)
				}
				if err := r.Reject(cfg, nil); err != mpa.ErrAnswered {
					t.Errorf("Reject after Accept: got %v, want ErrAnswered", err)
				}
			})
			if diff := cmp.Diff(append(repFrame(t, tt.wantReply), private[1:]...), said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// The reply cannot be written.
func TestAnswerLost(t *testing.T) {
	for _, tt := range []struct {
		name, request string
		want          failure
	}{
		{"accept", "00 01 0000", failure{io.ErrClosedPipe, mpa.CodeLost, false}},
		{"refusal", "c0 00 0000", failure{mpa.ErrRevision, mpa.CodeFrame, false}},
		{"refusal's other cause", "c0 00 0000", failure{io.ErrClosedPipe, mpa.CodeFrame, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, peer := mpa.TimedPipe()
			go func() {
				_, _ = peer.Write(reqFrame(t, tt.request))
				peer.Close()
			}()
			r, err := mpa.ReadRequest(conn)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
				t.Fatalf("got %v, want the peer's close", err)
			}
			_, err = r.Accept(mpa.Config{}, nil)
			tt.want.check(t, err)
		})
	}
}
