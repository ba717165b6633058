//go:build interop

package sctp

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// Private data of 512 bytes, and of 508, which is the most (RFC 5043 section 5.2.3, RFC 6581
// section 7).
var most, mostEnhanced = strings.Repeat("70", 512), strings.Repeat("71", 508)

// A peer asks for a session, and our listener answers. In the enhanced messages, A, B and IRD, and
// C, D and ORD, follow the function code (RFC 6581 section 9.1).
func TestOurAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    iwarp.Config
		ask    string
		pd     string // of what the peer asks
		reject bool
		reply  string // private data of ours
		answer string
	}{
		{"Accept", iwarp.Config{}, "0001", "", false, "", "0002"},
		{"Accept with private data", iwarp.Config{}, "0001", "7064", false, "6f6b", "0002 6f6b"},
		{"Accept with the most", iwarp.Config{Enhanced: mpa.EnhancedNever}, "0001", most, false, most,
			"0002" + most},
		{"Reject", iwarp.Config{}, "0001", "7064", true, "6e6f", "0003 6e6f"},
		{"Reject with the most", iwarp.Config{Enhanced: mpa.EnhancedNever}, "0001", most, true, most,
			"0003" + most},
		{"Enhanced Accept", iwarp.Config{}, "0005 0004 0008", "7064", false, "6f6b",
			"0006 0010 0004 6f6b"},
		{"Enhanced Accept with the most", iwarp.Config{}, "0005 0010 0010", mostEnhanced, false,
			mostEnhanced, "0006 0010 0010" + mostEnhanced},
		{"Enhanced Accept with fewer RDMA Reads", iwarp.Config{IRD: 3, ORD: 2}, "0005 0010 0010", "",
			false, "", "0006 0003 0002"},
		{"Enhanced Accept of an RDMA Write as RTR", iwarp.Config{RTR: mpa.RTRWrite},
			"0005 c010 c010", "", false, "", "0006 8010 8010"},
		{"Enhanced Reject", iwarp.Config{}, "0005 0004 0008", "7064", true, "6e6f",
			"0007 0010 0004 6e6f"},
		{"Enhanced Reject with the most", iwarp.Config{}, "0005 0010 0010", mostEnhanced, true,
			mostEnhanced, "0007 0010 0010" + mostEnhanced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := asked(t, tt.cfg, sctp.Config{}, nil)
			defer r.over()
			r.says(3, 17, "0000"+tt.ask+tt.pd)
			req := r.request()
			if got := fmt.Sprintf("%x", req.Info().PrivateData); got != tt.pd {
				t.Errorf("private data %s, want %s", got, tt.pd)
			}
			reply := unhex(t, tt.reply)
			if tt.reject {
				if err := req.Reject(reply); err != nil {
					t.Fatal(err)
				}
				r.hears(3, 17, "0000"+tt.answer)
			} else {
				ep, err := req.Accept(t.Context(), transport.Private(reply))
				if err != nil {
					t.Fatal(err)
				}
				r.hears(3, 17, "0000"+tt.answer)
				r.says(3, 17, "0001 0004")
				if err := newEnd(t, ep).ended(); !errors.Is(err, transport.ErrClosedByPeer) {
					t.Errorf("got error %v, want %v", err, transport.ErrClosedByPeer)
				}
				r.hears(3, 17, "0001 0004")
			}
			r.session(3) // the stream is free for another
		})
	}
}

// A listener itself rejects a peer whose IRD is below the ORD that it needs (RFC 6581 section 9.1).
func TestOurOwnReject(t *testing.T) {
	r := asked(t, iwarp.Config{RequiredORD: 8}, sctp.Config{}, nil)
	defer r.over()
	r.says(0, 17, "0000 0005 0004 0010")
	if ep, err := r.request().Accept(t.Context(), nil); err == nil {
		ep.Close()
		t.Error("Accept has succeeded")
	}
	r.hears(0, 17, "0000 0007 0010 0008")
}

// TestOurRefusals: a listener without enhanced setup answers an enhanced message with Terminate,
// because Reject is for the upper layer (RFC 5043 section 6.3). It answers the same once no Accept
// will follow.
func TestOurRefusals(t *testing.T) {
	r := asked(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{}, nil)
	defer r.over()
	other := r.session(1)
	r.says(0, 17, "0000 0005 0010 0010")
	if ep, err := r.request().Accept(t.Context(), nil); !errors.Is(err, mpa.ErrEnhanced) {
		if err == nil {
			ep.Close()
		}
		t.Errorf("Accept: got error %v, want %v", err, mpa.ErrEnhanced)
	}
	r.hears(0, 17, "0000 0004")
	r.listen.Close()
	r.says(2, 17, "0000 0001")
	r.hears(2, 17, "0000 0004")
	r.goOn(1, other)
}

// If a session is accepted with an RTR that our dialer cannot send, the dialer ends it: by an RDMAP
// Terminate, then by the session's (RFC 6581 section 9.2).
func TestOurNoRTR(t *testing.T) {
	r := asks(t, iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, sctp.Config{})
	defer r.over()
	dial := r.dial("")
	r.expectUp()
	r.hears(0, 17, "0000 0005 8010 8010")
	r.says(0, 17, "0000 0006 8010 4010")
	r.refused(dial)
	r.hears(0, 16, "0001 41 47 00000000 00000002 00000001 00000000 2007 0000")
	r.hears(0, 17, "0002 0004")
}

// A listener that supports none of the offered kinds of RTR names its own (RFC 6581 section 9.2).
// It does not reject the peer.
func TestOurOtherRTR(t *testing.T) {
	r := asked(t, iwarp.Config{RTR: mpa.RTRWrite}, sctp.Config{}, nil)
	defer r.over()
	r.says(0, 17, "0000 0005 8010 4010")
	e := r.accept("")
	r.hears(0, 17, "0000 0006 8010 8010")
	r.says(0, 16, "0001 c1 40 00000001 0000000000000000")
	e.receives()
	r.says(0, 16, "0002"+send(1, "6869"))
	e.wantMessage("6869")
}

// In the peer-to-peer model the first segment is the RTR: an RDMA Write of no bytes (RFC 6581
// section 9.2).
func TestOurRTR(t *testing.T) {
	r := asks(t, iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, sctp.Config{})
	defer r.over()
	dial := r.dial("")
	r.expectUp()
	r.hears(0, 17, "0000 0005 8010 8010")
	r.says(0, 17, "0000 0006 8010 8010")
	e := r.end(dial)
	r.hears(0, 16, "0001 c1 40 00000001 0000000000000000")
	e.receives()
	r.says(0, 16, "0001"+send(1, "6869"))
	e.wantMessage("6869")
}

// Our dialer asks for a session, and the peer answers.
func TestOurAsking(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    iwarp.Config
		pd     string
		ask    string
		answer string
		reject bool
		reply  string // private data of the peer
	}{
		{"Accept", iwarp.Config{Enhanced: mpa.EnhancedNever}, "7064", "0001 7064", "0002", false,
			"6f6b"},
		{"Accept with the most", iwarp.Config{Enhanced: mpa.EnhancedNever}, most, "0001" + most,
			"0002", false, most},
		{"Reject", iwarp.Config{Enhanced: mpa.EnhancedNever}, "", "0001", "0003", true, "6e6f"},
		{"Reject with the most", iwarp.Config{Enhanced: mpa.EnhancedNever}, "", "0001", "0003", true,
			most},
		{"Enhanced Accept", iwarp.Config{IRD: 5, ORD: 6}, "7064", "0005 0005 0006 7064",
			"0006 0010 0005", false, "6f6b"},
		{"Enhanced Accept with the most", iwarp.Config{}, mostEnhanced, "0005 0010 0010" +
			mostEnhanced, "0006 0010 0010", false, mostEnhanced},
		{"Enhanced Reject", iwarp.Config{}, "", "0005 0010 0010", "0007 0010 0010", true, "6e6f"},
		{"Enhanced Reject with the most", iwarp.Config{}, "", "0005 0010 0010", "0007 0010 0010",
			true, mostEnhanced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := asks(t, tt.cfg, sctp.Config{})
			defer r.over()
			dial := r.dial(string(unhex(t, tt.pd)))
			r.expectUp()
			r.hears(0, 17, "0000"+tt.ask)
			r.says(0, 17, "0000"+tt.answer+tt.reply)
			if tt.reject {
				var rejected *transport.RejectError
				if err := r.refused(dial); !errors.As(err, &rejected) {
					t.Errorf("got error %v, want a %T", err, rejected)
				} else if got := fmt.Sprintf("%x", rejected.PrivateData); got != tt.reply {
					t.Errorf("private data %s, want %s", got, tt.reply)
				}
				// Nothing follows. The association ends with its only session.
				r.peer.expect("down shutdown -")
				return
			}
			e := r.end(dial)
			if got := fmt.Sprintf("%x", e.Info().PrivateData); got != tt.reply {
				t.Errorf("private data %s, want %s", got, tt.reply)
			}
			r.says(0, 17, "0001 0004")
			if err := e.ended(); !errors.Is(err, transport.ErrClosedByPeer) {
				t.Errorf("got error %v, want %v", err, transport.ErrClosedByPeer)
			}
			r.hears(0, 17, "0001 0004")
			r.peer.expect("down shutdown -")
		})
	}
}

// A peer without RFC 6581 answers Enhanced Initiate by Terminate. Our dialer then tries Initiate,
// once (RFC 6581 section 10).
func TestOurAskingUnenhanced(t *testing.T) {
	// Another session keeps the association.
	begin := func(t *testing.T) (*rig, <-chan dialed) {
		r := asks(t, iwarp.Config{}, sctp.Config{})
		first := r.dial("")
		r.expectUp()
		r.hears(0, 17, "0000 0005 0010 0010")
		r.says(0, 17, "0000 0006 0010 0010")
		r.end(first)
		dial := r.dial("pd")
		r.hears(1, 17, "0000 0005 0010 0010 7064")
		r.says(1, 17, "0000 0004")
		var again bool
		for range 2 { // in either order
			switch m := r.peer.receive(); {
			case m.Stream == 1 && m.PPID == 17 && m.Bytes == "00010004":
			case m.Stream == 2 && m.PPID == 17 && m.Bytes == "000000017064":
				again = true
			default:
				t.Errorf("we send %+v", m)
			}
		}
		if !again {
			t.Error("there is no Initiate")
		}
		return r, dial
	}
	t.Run("accepted", func(t *testing.T) {
		r, dial := begin(t)
		defer r.over()
		r.says(2, 17, "0000 0002 6f6b")
		if got := string(r.end(dial).Info().PrivateData); got != "ok" {
			t.Errorf("private data %q, want %q", got, "ok")
		}
	})
	t.Run("terminated", func(t *testing.T) {
		r, dial := begin(t)
		defer r.over()
		r.says(2, 17, "0000 0004")
		if err := r.refused(dial); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got error %v, want that of an end", err)
		}
		r.hears(2, 17, "0001 0004")
	})
	t.Run("alone", func(t *testing.T) {
		r := asks(t, iwarp.Config{}, sctp.Config{})
		defer r.over()
		dial := r.dial("pd")
		r.expectUp()
		r.hears(0, 17, "0000 0005 0010 0010 7064")
		r.says(0, 17, "0000 0004")
		// The association may have ended with the session before the next is there.
		for done := false; !done; {
			switch line := r.peer.next(); {
			case strings.HasPrefix(line, "recv 0 17 ") && strings.HasSuffix(line, " 00010004"):
			case strings.HasPrefix(line, "recv ") && strings.HasSuffix(line, " 000000017064"):
				stream := 0
				if _, err := fmt.Sscanf(line, "recv %d", &stream); err != nil {
					t.Fatal(err)
				}
				r.says(stream, 17, "0000 0002 6f6b")
				done = true
			case strings.HasPrefix(line, "recv "), strings.HasPrefix(line, "down lost"):
				t.Fatalf("the peer says %q", line)
			}
		}
		r.end(dial)
	})
}

// Each side may end a session by Terminate, which the other answers. The side that asks may then
// begin another on that stream.
func TestOurTerminate(t *testing.T) {
	for _, first := range []string{"ours", "the peer's"} {
		// finish has a session end by Terminate of one side first, and waits for that of ours.
		finish := func(r *rig, stream int, e *end) {
			r.t.Helper()
			if first == "ours" {
				e.Close()
				r.hears(stream, 17, "0001 0004")
				r.says(stream, 17, "0001 0004")
				r.peer.acknowledged()
				return
			}
			r.says(stream, 17, "0001 0004")
			if err := e.ended(); !errors.Is(err, transport.ErrClosedByPeer) {
				r.t.Errorf("got error %v, want %v", err, transport.ErrClosedByPeer)
			}
			r.hears(stream, 17, "0001 0004")
		}
		t.Run(first+"/listener", func(t *testing.T) {
			r := asked(t, iwarp.Config{}, sctp.Config{}, nil)
			defer r.over()
			for range 3 {
				finish(r, 1, r.session(1))
			}
			r.goOn(1, r.session(1))
		})
		t.Run(first+"/dialer", func(t *testing.T) {
			// There are three streams. One keeps the association. Another is used to find out that
			// the peer's messages on the third were taken.
			r := asks(t, iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{Streams: 3})
			defer r.over()
			ask := func(stream int) *end {
				t.Helper()
				dial := r.dial("")
				if stream == 0 {
					r.peer.expect("up 3 3", "indication 00000001")
				}
				r.hears(stream, 17, "0000 0001")
				r.says(stream, 17, "0000 0002")
				return r.end(dial)
			}
			ask(0)
			e := ask(1)
			for i := range 4 {
				finish(r, 1+i%2, e)
				e.ended()
				e = ask(2 - i%2)
			}
			r.goOn(1, e)
		})
	}
}
