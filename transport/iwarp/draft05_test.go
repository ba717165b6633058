package iwarp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// The differences between draft-ietf-storm-mpa-peer-connect-05 and RFC 6581: Terminates about the
// setup have error type 3 (section 8), a reply may name no kind of RTR, and the responder's IRD is
// at most the initiator's ORD (section 9).

// accepted makes a peer send request to our listener, which must accept it with exactly reply.
func (r *rig) accepted(request, reply []byte) (*peer, *local) {
	r.t.Helper()
	p := dialPeer(r.t, r.listener.Addr().String())
	p.crc = reply[16]&0x40 != 0
	p.write(request)
	ep, err := r.request().Accept(r.t.Context(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	p.wantStartup(reply)
	return p, newLocal(r.t, ep)
}

// reached makes our dialer connect to a peer with exactly request. The peer answers reply.
func (r *rig) reached(request, reply []byte) (*peer, *local) {
	r.t.Helper()
	dial := r.dial(r.t.Context())
	p := acceptPeer(r.t, r.peers)
	p.crc = reply[16]&0x40 != 0
	p.wantStartup(request)
	p.write(reply)
	d := hang.Receive(r.t, "Dial", dial)
	if d.err != nil {
		r.t.Fatal(d.err)
	}
	return p, newLocal(r.t, d.ep)
}

// TestDraft05Terminated has a peer end the connection with a Terminate of the draft, which is
// always understood.
func TestDraft05Terminated(t *testing.T) {
	eachSide(t, func(t *testing.T, dialing bool, crc iwarp.CRC) {
		for _, draft := range []bool{false, true} {
			for _, p2p := range []bool{false, true} {
				for _, code := range []rdmap.Code{rdmap.MPACatastrophic, rdmap.MPAIRD, rdmap.MPARTR} {
					t.Run(fmt.Sprintf("%v, peer-to-peer %t, Draft05 %t", code, p2p, draft), func(t *testing.T) {
						r := newRig(t, dialing, iwarp.Config{CRC: crc, PeerToPeer: p2p, RTR: mpa.RTRWrite, Draft05: draft})
						p, l := r.connect()
						if dialing && p2p {
							p.want("RTR", segment(toSTag(rdmap.OpWrite, 1, 0), ""))
						}
						l.start()
						p.send(segment(onQueue(rdmap.OpTerminate, 1), string([]byte{0x23, byte(code), 0, 0})))
						p.wantFIN()
						wantTerminated(t, l.ended(), code, true, nil)
						r.wantCounters(map[string]int{"Connections": 1, "TerminatesReceived": 1})
					})
				}
			}
		}
	})
}

// TestDraft05Replies has replies that our dialer refuses, with a Terminate of the draft. Codes of
// RFC 5044 do not change.
func TestDraft05Replies(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cfg     iwarp.Config
		private string // of the reply
		words   [2]byte
		want    error
	}{
		{"ORD above our IRD", iwarp.Config{}, "\x00\x10\x00\x11", [2]byte{0x23, 0x06}, mpa.ErrInsufficientIRD},
		{"another RTR", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, "\xc0\x10\x40\x10", [2]byte{0x23, 0x07}, mpa.ErrNoMatchingRTR},
		{"RTR by Read, without an IRD", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRRead}, "\x80\x00\x40\x10", [2]byte{0x23, 0x07}, mpa.ErrNoMatchingRTR},
		{"no RTR, so a Send", iwarp.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, "\x80\x10\x00\x10", [2]byte{0x23, 0x07}, mpa.ErrNoMatchingRTR},
		{"another model", iwarp.Config{PeerToPeer: true}, "\x00\x10\x00\x10", [2]byte{0x23, 0x07}, mpa.ErrConnectionModel},
		{"without the enhanced data", iwarp.Config{}, "\x00\x10\x00", [2]byte{0x20, 0x04}, mpa.ErrFrame},
	} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(describe(true, crc)+", "+tt.name, func(t *testing.T) {
				tt.cfg.CRC, tt.cfg.Draft05 = crc, true
				r := newRig(t, true, tt.cfg)
				dial := r.dial(t.Context())
				p := acceptPeer(t, r.peers)
				p.crc = crc == iwarp.CRCOn
				p.readStartup()
				p.write(replyFrame(0x10, 2, tt.private))
				if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, tt.want) || d.ep != nil {
					t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, tt.want)
				}
				p.wantTerminate([]byte{tt.words[0], tt.words[1], 0, 0})
				r.wantCounters(map[string]int{"HandshakeFailures": 1, "TerminatesSent": 1})
			})
		}
	}
}

// TestDraft05WrongRTR has an initiator that begins with an RTR that was not agreed on. Our listener
// sends a Terminate of the draft.
func TestDraft05WrongRTR(t *testing.T) {
	for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
		t.Run(describe(false, crc), func(t *testing.T) {
			r := newRig(t, false, iwarp.Config{CRC: crc, RTR: mpa.RTRRead, Draft05: true})
			p, l := r.connectAs(peerToPeer)
			l.start()
			p.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
			p.wantTerminate([]byte{0x23, 0x07, 0, 0})
			wantTerminated(t, l.ended(), rdmap.MPARTR, false, nil)
		})
	}
}

// Terminates that are not about the setup are those of RFC 5040, RFC 5041 and RFC 5044.
func TestDraft05OtherTerminates(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(p *peer) (words []byte)
		want error
	}{
		{"CRC", func(p *peer) []byte {
			fpdu := p.frame(segment(onQueue(rdmap.OpSend, 2), "message"))
			fpdu[25] ^= 1
			p.write(fpdu)
			return []byte{0x20, 0x02, 0, 0}
		}, mpa.ErrCRC},
		{"no receive", func(p *peer) []byte {
			s := segment(onQueue(rdmap.OpSend, 2), "message")
			p.send(s)
			return terminateBytes(rdmap.UntaggedNoBuffer, s, true, false)
		}, transport.ErrNoReceive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, l := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOn, Draft05: true}).connect()
			alive(p, l.start())
			p.wantTerminate(tt.play(p))
			if err := l.ended(); !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestDraft05NoFlagsInReply has a responder that names no kind of RTR. That means a Send, whatever
// else we have offered.
func TestDraft05NoFlagsInReply(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rtr     mpa.RTR
		request string
		reply   string
	}{
		{"all offered", 0, "\xc0\x10\xc0\x10", "\x80\x10\x00\x10"},
		{"Send offered", mpa.RTRSend, "\xc0\x10\x00\x10", "\x80\x10\x00\x10"},
		{"no reads", 0, "\xc0\x10\xc0\x10", "\x80\x00\x00\x00"},
	} {
		for _, draft := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Draft05 %t", tt.name, draft), func(t *testing.T) {
				r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, PeerToPeer: true, RTR: tt.rtr, Draft05: draft})
				p, l := r.reached(requestFrame(0x10, 2, tt.request), replyFrame(0x10, 2, tt.reply))
				p.want("RTR", segment(onQueue(rdmap.OpSend, 1), ""))
				p.takes = 1
				if s, _ := iwarp.SetupOf(l.Endpoint); s.RTR != mpa.RTRSend || !s.AnySend {
					t.Errorf("setup %+v, want an RTR by Send, and any Send", s)
				}
				alive(p, l.start())
				if len(l.completions) > 0 || len(l.messages) > 0 {
					t.Error("the RTR has led to a completion or a message")
				}
			})
		}
	}
}

// nothingInCommon connects a peer that offers a Write to a listener that only takes an RTR by Send.
func nothingInCommon(t *testing.T, crc iwarp.CRC) (*peer, *local) {
	r := newRig(t, false, iwarp.Config{CRC: crc, RTR: mpa.RTRSend, Draft05: true})
	bits := byte(0x10)
	if crc == iwarp.CRCOn {
		bits = 0x50
	}
	p, l := r.accepted(requestFrame(bits, 2, "\x80\x02\x80\x02"), replyFrame(bits, 2, "\x80\x02\x00\x02"))
	if s, _ := iwarp.SetupOf(l.Endpoint); s.RTR != mpa.RTRSend || !s.AnySend || !s.PeerToPeer {
		t.Errorf("setup %+v, want an RTR by Send, and any Send", s)
	}
	return p, l
}

// TestDraft05EmptySend has an initiator whose provider replaces the missing RTR: a Send of length
// zero is the RTR.
func TestDraft05EmptySend(t *testing.T) {
	for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
		t.Run(describe(false, crc), func(t *testing.T) {
			p, l := nothingInCommon(t, crc)
			l.receives(1)
			l.start()
			l.send("posted before")
			p.wantSilence()
			p.send(segment(onQueue(rdmap.OpSend, 1), ""))
			p.wantMessage("posted before")
			p.sends = 1
			p.sendMessage("takes the receive")
			l.wantMessage("takes the receive")
			alive(p, l)
			if len(l.completions) > 0 || len(l.messages) > 0 {
				t.Error("the RTR has led to a completion or a message")
			}
		})
	}
}

// A second Send of length zero is an ordinary one.
func TestDraft05EmptySendTwice(t *testing.T) {
	p, l := nothingInCommon(t, iwarp.CRCOff)
	l.receives(1)
	l.start()
	p.send(segment(onQueue(rdmap.OpSend, 1), ""), segment(onQueue(rdmap.OpSend, 2), ""))
	l.wantMessage("")
	p.sends = 2
	alive(p, l)
}

// TestDraft05AnySend has an initiator whose upper layer replaces the missing RTR: its first Send is
// delivered as usual, and then we may send.
func TestDraft05AnySend(t *testing.T) {
	for _, tt := range []struct {
		name     string
		segments func(l *local) [][]byte
		want     string
	}{
		{"Send", func(*local) [][]byte { return [][]byte{segment(onQueue(rdmap.OpSend, 1), "data")} }, "data"},
		{"Send with Solicited Event", func(*local) [][]byte { return [][]byte{segment(onQueue(rdmap.OpSendSE, 1), "data")} }, "data"},
		{"Send with Solicited Event of no bytes", func(*local) [][]byte { return [][]byte{segment(onQueue(rdmap.OpSendSE, 1), "")} }, ""},
		{"Send with Invalidate", func(l *local) [][]byte {
			return [][]byte{segment(invalidates(rdmap.OpSendInvalidate, l), "data")}
		}, "data"},
		{"Send with Solicited Event and Invalidate, of no bytes", func(l *local) [][]byte {
			return [][]byte{segment(invalidates(rdmap.OpSendSEInvalidate, l), "")}
		}, ""},
		{"several segments", func(*local) [][]byte {
			return [][]byte{
				segment(with(onQueue(rdmap.OpSend, 1), more), "da"),
				segment(with(onQueue(rdmap.OpSend, 1), offset(2)), "ta"),
			}
		}, "data"},
		{"several segments, the first of no bytes", func(*local) [][]byte {
			return [][]byte{segment(with(onQueue(rdmap.OpSend, 1), more), ""), segment(onQueue(rdmap.OpSend, 1), "data")}
		}, "data"},
		{"several segments of no bytes", func(*local) [][]byte {
			return [][]byte{segment(with(onQueue(rdmap.OpSend, 1), more), ""), segment(onQueue(rdmap.OpSend, 1), "")}
		}, ""},
	} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(describe(false, crc)+", "+tt.name, func(t *testing.T) {
				p, l := nothingInCommon(t, crc)
				l.receives(1)
				l.start()
				l.send("posted before")
				p.wantSilence()
				segments := tt.segments(l)
				p.send(segments...)
				l.wantMessage(tt.want)
				p.wantMessage("posted before")
				p.sends = 1
				alive(p, l)
				if len(l.messages) > 0 {
					t.Error("received another message")
				}
				if h, _, err := ddp.Parse(segments[0]); err != nil || h.ULP == 0 {
					return
				}
				// The window has ended: the same Send again finds none.
				l.receives(1)
				again := bytes.Clone(segments[0])
				binary.BigEndian.PutUint32(again[10:], p.sends+1) // MSN
				p.send(again)
				wantTerminated(t, l.ended(), rdmap.ProtectionSTag, false, transport.ErrSTag)
			})
		}
	}
}

// invalidates is the header of a first Send that invalidates a window of l.
func invalidates(op rdmap.Opcode, l *local) ddp.Header {
	tag := l.expose(transport.RemoteRead|transport.RemoteInvalidate, make([]byte, 4)).STag
	return with(onQueue(op, 1), func(h *ddp.Header) { h.ULP = uint32(tag) })
}

// TestDraft05NoSend has an initiator that does not begin with a Send where one is required.
func TestDraft05NoSend(t *testing.T) {
	for _, tt := range []struct {
		name    string
		segment []byte
		words   []byte // nil: those for a segment
		code    rdmap.Code
	}{
		{"Write", segment(toSTag(rdmap.OpWrite, 1, 0), ""), []byte{0x23, 0x07, 0, 0}, rdmap.MPARTR},
		{"Write of something", segment(toSTag(rdmap.OpWrite, 1, 0), "x"), []byte{0x23, 0x07, 0, 0}, rdmap.MPARTR},
		{"Read", segment(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 0)), []byte{0x23, 0x07, 0, 0}, rdmap.MPARTR},
		{"Read of something", segment(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 4)), []byte{0x23, 0x07, 0, 0}, rdmap.MPARTR},
		{"Read Response", segment(toSTag(rdmap.OpReadResponse, 1, 0), ""), []byte{0x23, 0x07, 0, 0}, rdmap.MPARTR},
		{"reserved opcode", segment(onQueue(9, 1), ""), []byte{0x23, 0x07, 0, 0}, rdmap.MPARTR},
		{"Send of no bytes at an offset", segment(with(onQueue(rdmap.OpSend, 1), offset(4)), ""), []byte{0x23, 0x07, 0, 0}, rdmap.MPARTR},
		{"Send at an offset", segment(with(onQueue(rdmap.OpSend, 1), offset(4)), "data"), nil, rdmap.UntaggedMO},
		{"Send of no bytes, message 2", segment(onQueue(rdmap.OpSend, 2), ""), nil, rdmap.UntaggedMSNRange},
		{"Send, message 2", segment(onQueue(rdmap.OpSend, 2), "data"), nil, rdmap.UntaggedMSNRange},
		{"Send of no bytes, tagged", segment(toSTag(rdmap.OpSend, 1, 0), ""), nil, rdmap.OperationOpcode},
		{"Send, tagged", segment(toSTag(rdmap.OpSend, 1, 0), "data"), nil, rdmap.OperationOpcode},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, l := nothingInCommon(t, iwarp.CRCOff)
			l.receives(1)
			l.start()
			l.send("never sent")
			p.send(tt.segment)
			if tt.words == nil {
				tt.words = terminateBytes(tt.code, tt.segment, true, false)
			}
			p.wantTerminate(tt.words)
			wantTerminated(t, l.ended(), tt.code, false, nil)
			if len(l.messages) > 0 {
				t.Error("received a message")
			}
		})
	}
}

// A Send with payload needs a receive, also if it replaces the RTR.
func TestDraft05AnySendNoReceive(t *testing.T) {
	p, l := nothingInCommon(t, iwarp.CRCOff)
	l.start()
	s := segment(onQueue(rdmap.OpSend, 1), "data")
	p.send(s)
	p.wantTerminate(terminateBytes(rdmap.UntaggedNoBuffer, s, true, false))
	wantTerminated(t, l.ended(), rdmap.UntaggedNoBuffer, false, transport.ErrNoReceive)
}

// TestDraft05Common checks the kinds that the reply names, if the request offers kinds that our
// listener takes, or does not.
func TestDraft05Common(t *testing.T) {
	const s, w, r = mpa.RTRSend, mpa.RTRWrite, mpa.RTRRead
	for _, tt := range []struct {
		name    string
		takes   mpa.RTR
		offers  string // of the request
		rfc     string // the reply without the option
		draft   string // the reply with the option
		draftly mpa.RTR
	}{
		{"all and all", s | w | r, "\xc0\x02\xc0\x02", "\xc0\x02\xc0\x02", "\xc0\x02\xc0\x02", s | w | r},
		{"some in common", s | w, "\x80\x02\xc0\x02", "\x80\x02\x80\x02", "\x80\x02\x80\x02", w},
		{"Send for Write", s, "\x80\x02\x80\x02", "\xc0\x02\x00\x02", "\x80\x02\x00\x02", s},
		{"Send for Write and Read", s, "\x80\x02\xc0\x02", "\xc0\x02\x00\x02", "\x80\x02\x00\x02", s},
		{"Send for nothing", s, "\x80\x02\x00\x02", "\xc0\x02\x00\x02", "\x80\x02\x00\x02", s},
		{"all for nothing", s | w | r, "\x80\x02\x00\x02", "\xc0\x02\xc0\x02", "\x80\x02\x00\x02", s},
		// To accept a Send, a side must be able to send one.
		{"Write for Read", w, "\x80\x02\x40\x02", "\x80\x02\x80\x02", "\x80\x02\x80\x02", w},
		{"Write for nothing", w, "\x80\x02\x00\x02", "\x80\x02\x80\x02", "\x80\x02\x80\x02", w},
	} {
		for _, draft := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Draft05 %t", tt.name, draft), func(t *testing.T) {
				rig := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff, IRD: 2, ORD: 2, RTR: tt.takes, Draft05: draft})
				reply := tt.rfc
				if draft {
					reply = tt.draft
				}
				_, l := rig.accepted(requestFrame(0x10, 2, tt.offers), replyFrame(0x10, 2, reply))
				setup, _ := iwarp.SetupOf(l.Endpoint)
				if draft && setup.RTR != tt.draftly || setup.AnySend != (reply == "\x80\x02\x00\x02") {
					t.Errorf("setup %+v, want RTR %v", setup, tt.draftly)
				}
			})
		}
	}
}

// TestDraft05Reads checks the IRD and ORD of replies.
func TestDraft05Reads(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   func(*iwarp.Config)
		request  string
		rfc      string // the reply without the option
		draft    string // the reply with the option
		ird, ord int    // with it
	}{
		{"less than we have", nil, "\x00\x04\x00\x03", "\x00\x08\x00\x04", "\x00\x03\x00\x04", 3, 4},
		{"more than we have", nil, "\x00\x20\x00\x20", "\x00\x08\x00\x06", "\x00\x08\x00\x06", 8, 6},
		{"none", nil, "\x00\x00\x00\x00", "\x00\x08\x00\x00", "\x00\x00\x00\x00", 0, 0},
		{"none, flags without A", nil, "\x40\x00\xc0\x00", "\x00\x08\x00\x00", "\x00\x00\x00\x00", 0, 0},
		{"none, but an RTR by Read", nil, "\x80\x00\x40\x00", "\x80\x08\x40\x00", "\x80\x01\x40\x00", 1, 0},
		{"none, and an RTR by Write", nil, "\x80\x00\x80\x00", "\x80\x08\x80\x00", "\x80\x00\x80\x00", 0, 0},
		{"none, and we take no RTR by Read", func(c *iwarp.Config) { c.RTR = mpa.RTRWrite },
			"\x80\x00\xc0\x00", "\x80\x08\x80\x00", "\x80\x00\x80\x00", 0, 0},
		{"none, and an RTR by Read that is not offered", func(c *iwarp.Config) { c.RTR = mpa.RTRRead },
			"\x80\x00\x80\x00", "\x80\x08\x40\x00", "\x80\x01\x40\x00", 1, 0},
		{"one, and an RTR by Read", nil, "\x80\x00\x40\x01", "\x80\x08\x40\x00", "\x80\x01\x40\x00", 1, 0},
		{"ORD left to the upper layer", nil, "\x00\x04\x3f\xff", "\x3f\xff\x00\x04", "\x3f\xff\x00\x04", 8, 4},
		{"IRD left to the upper layer", nil, "\x3f\xff\x00\x03", "\x00\x08\x3f\xff", "\x00\x03\x3f\xff", 3, 6},
		{"both left to the upper layer", nil, "\x3f\xff\x3f\xff", "\x3f\xff\x3f\xff", "\x3f\xff\x3f\xff", 8, 6},
		{"here, too", func(c *iwarp.Config) { c.ManualReads = true }, "\x3f\xff\x3f\xff", "\x3f\xff\x3f\xff", "\x3f\xff\x3f\xff", 8, 6},
		{"here alone", func(c *iwarp.Config) { c.ManualReads = true }, "\x00\x04\x00\x03", "\x3f\xff\x3f\xff", "\x3f\xff\x3f\xff", 8, 6},
	} {
		for _, draft := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Draft05 %t", tt.name, draft), func(t *testing.T) {
				cfg := iwarp.Config{CRC: iwarp.CRCOff, IRD: 8, ORD: 6, Draft05: draft}
				if tt.change != nil {
					tt.change(&cfg)
				}
				reply := tt.rfc
				if draft {
					reply = tt.draft
				}
				p, l := newRig(t, false, cfg).accepted(requestFrame(0x10, 2, tt.request), replyFrame(0x10, 2, reply))
				if info := l.Info(); draft && (info.IRD != tt.ird || info.ORD != tt.ord) {
					t.Errorf("IRD %d, ORD %d, want %d, %d", info.IRD, info.ORD, tt.ird, tt.ord)
				}
				l.start()
				// With an RTR by Read, the IRD of 1 is used for the RTR.
				if setup, _ := iwarp.SetupOf(l.Endpoint); setup.RTR == mpa.RTRRead {
					p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 0)))
					p.want("response", segment(toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000), ""))
				} else if setup.RTR != 0 {
					p.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
				}
				alive(p, l)
			})
		}
	}
}

// TestDraft05InitiatorReads checks the IRD and ORD that our dialer sends, and those that follow
// from the reply. Neither depends on the dialect.
func TestDraft05InitiatorReads(t *testing.T) {
	for _, tt := range []struct {
		name     string
		manual   bool
		request  string
		reply    string
		ird, ord int
	}{
		{"numbers", false, "\x00\x08\x00\x06", "\x00\x03\x00\x02", 8, 3},
		{"reply leaves both", false, "\x00\x08\x00\x06", "\x3f\xff\x3f\xff", 8, 6},
		{"reply leaves the ORD", false, "\x00\x08\x00\x06", "\x00\x03\x3f\xff", 8, 3},
		{"all leave both", true, "\x3f\xff\x3f\xff", "\x3f\xff\x3f\xff", 8, 6},
		// siw takes ReadsManual as a number.
		{"we leave both", true, "\x3f\xff\x3f\xff", "\x00\x80\x00\x80", 8, 6},
	} {
		for _, draft := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Draft05 %t", tt.name, draft), func(t *testing.T) {
				r := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, IRD: 8, ORD: 6, ManualReads: tt.manual, Draft05: draft})
				p, l := r.reached(requestFrame(0x10, 2, tt.request), replyFrame(0x10, 2, tt.reply))
				if info := l.Info(); info.IRD != tt.ird || info.ORD != tt.ord {
					t.Errorf("IRD %d, ORD %d, want %d, %d", info.IRD, info.ORD, tt.ird, tt.ord)
				}
				alive(p, l.start())
			})
		}
	}
}
