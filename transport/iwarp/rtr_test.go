package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestRTRSent makes our dialer send each kind of RTR (RFC 6581 section 9.2). It is the first FPDU,
// whatever was posted, and a Send takes a message number.
func TestRTRSent(t *testing.T) {
	for _, tt := range []struct {
		name string
		rtr  mpa.RTR
		want func(p *peer) // the first FPDU
		next uint32        // MSN of the first Send of the upper layer
	}{
		{"Send", mpa.RTRSend, func(p *peer) { p.want("RTR", segment(onQueue(rdmap.OpSend, 1), "")) }, 2},
		{"Write", mpa.RTRWrite, func(p *peer) { p.want("RTR", segment(toSTag(rdmap.OpWrite, 1, 0), "")) }, 1},
		{"Read", mpa.RTRRead, func(p *peer) {
			r := p.wantReadRequest(1)
			if r.Len != 0 || r.SourceSTag == 0 || r.SinkSTag == 0 {
				p.t.Errorf("RTR by Read: got %+v, want one of length 0 without a 0 for an STag", r)
			}
			p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), ""))
		}, 1},
	} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(describe(true, crc)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, true, iwarp.Config{CRC: crc, PeerToPeer: true, RTR: tt.rtr})
				p, l := r.connectAs(peerToPeer)
				tt.want(p)
				l.start()
				l.send("first")
				p.want("Send", segment(onQueue(rdmap.OpSend, tt.next), "first"))
				p.takes = tt.next
				alive(p, l)
				// The RTR's Read has the first MSN.
				msn := uint32(1)
				if tt.rtr == mpa.RTRRead {
					msn = 2
				}
				sink := make([]byte, 4)
				l.post(&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled, Local: slices(sink), Remote: transport.Remote{STag: 1}})
				req := p.wantReadRequest(msn)
				p.send(segment(toSTag(rdmap.OpReadResponse, req.SinkSTag, req.SinkOffset), "data"))
				if err := hang.Receive(t, "completion", l.completions); err != nil || string(sink) != "data" {
					t.Errorf("read %q, %v", sink, err)
				}
				if len(l.completions) > 0 || len(l.messages) > 0 {
					t.Error("the RTR has led to a completion or a message")
				}
			})
		}
	}
}

// With an ORD of 1, Reads of the upper layer wait for the response to an RTR by Read. With an ORD
// of 0, the RTR by Read works, too.
func TestRTRReadCounts(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, PeerToPeer: true, RTR: mpa.RTRRead, ORD: 1}).connectAs(peerToPeer)
	rtr := p.wantReadRequest(1)
	l.start()
	l.post(&transport.WorkRequest{Op: transport.OpRead, Local: slices(make([]byte, 4)), Remote: transport.Remote{STag: 1}})
	p.wantSilence()
	p.send(segment(toSTag(rdmap.OpReadResponse, rtr.SinkSTag, rtr.SinkOffset), ""))
	p.wantReadRequest(2)
}

// TestRTRTaken makes our listener take each kind of RTR: it uses no receive, completes nothing, and
// delivers nothing.
func TestRTRTaken(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rtr    []byte
		answer func(p *peer)
		sends  uint32 // Sends by the peer so far
	}{
		{"Send", segment(onQueue(rdmap.OpSend, 1), ""), nil, 1},
		{"Write", segment(toSTag(rdmap.OpWrite, 0, 0), ""), nil, 0},
		{"Read", segment(onQueue(rdmap.OpReadRequest, 1), readRequest(0, 0, 0)), func(p *peer) {
			p.want("response", segment(toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000), ""))
		}, 0},
	} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(describe(false, crc)+", "+tt.name, func(t *testing.T) {
				p, l := newRig(t, false, iwarp.Config{CRC: crc, PeerToPeer: true}).connectAs(peerToPeer)
				l.receives(1)
				l.start()
				l.send("posted before")
				p.send(tt.rtr)
				p.sends = tt.sends
				// Our end may send the response or the Send first.
				if tt.answer != nil {
					tt.answer(p)
				}
				p.wantMessage("posted before")
				p.sendMessage("takes the receive")
				l.wantMessage("takes the receive")
				alive(p, l)
				if len(l.completions) > 0 || len(l.messages) > 0 {
					t.Error("the RTR has led to a completion or a message")
				}
			})
		}
	}
}

// An RTR by Send needs no receive. The next Send is an ordinary one, and needs one.
func TestRTRSendTwice(t *testing.T) {
	p, l := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff, PeerToPeer: true}).connectAs(peerToPeer)
	l.start()
	second := segment(onQueue(rdmap.OpSend, 2), "")
	p.send(segment(onQueue(rdmap.OpSend, 1), ""), second)
	p.wantTerminate(terminateBytes(rdmap.UntaggedNoBuffer, second, true, false))
	wantTerminated(t, l.ended(), rdmap.UntaggedNoBuffer, false, transport.ErrNoReceive)
}

// TestRTRMissing has an initiator of a peer-to-peer connection that does not begin with the agreed
// RTR.
func TestRTRMissing(t *testing.T) {
	all := mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead
	for _, tt := range []struct {
		name    string
		rtr     mpa.RTR
		segment []byte
	}{
		{"Send of something", all, segment(onQueue(rdmap.OpSend, 1), "x")},
		{"Send without its end", all, segment(with(onQueue(rdmap.OpSend, 1), more), "")},
		{"Send at an offset", all, segment(with(onQueue(rdmap.OpSend, 1), offset(1)), "")},
		{"Send with Solicited Event", all, segment(onQueue(rdmap.OpSendSE, 1), "")},
		{"Send with Invalidate", all, segment(onQueue(rdmap.OpSendInvalidate, 1), "")},
		{"Write of something", all, segment(toSTag(rdmap.OpWrite, 1, 0), "x")},
		{"Write without its end", all, segment(with(toSTag(rdmap.OpWrite, 1, 0), more), "")},
		{"Read of something", all, segment(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 1))},
		{"Read Response", all, segment(toSTag(rdmap.OpReadResponse, 1, 0), "")},
		{"reserved opcode", all, segment(onQueue(9, 1), "")},
		{"Send where Write is agreed on", mpa.RTRWrite, segment(onQueue(rdmap.OpSend, 1), "")},
		{"Write where Send is agreed on", mpa.RTRSend, segment(toSTag(rdmap.OpWrite, 1, 0), "")},
		{"Read where Write is agreed on", mpa.RTRWrite, segment(onQueue(rdmap.OpReadRequest, 1), readRequest(1, 0, 0))},
		{"Write where Read is agreed on", mpa.RTRRead, segment(toSTag(rdmap.OpWrite, 1, 0), "")},
	} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(describe(false, crc)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, false, iwarp.Config{CRC: crc, PeerToPeer: true, RTR: tt.rtr})
				p, l := r.connectAs(peerToPeer)
				l.receives(1)
				l.start()
				l.send("never sent")
				p.send(tt.segment)
				p.wantTerminate([]byte{0x20, 0x07, 0, 0})
				wantTerminated(t, l.ended(), rdmap.MPARTR, false, nil)
				if len(l.messages) > 0 {
					t.Error("received a message")
				}
				r.wantCounters(map[string]int{"Connections": 1, "TerminatesSent": 1})
				r.log.want(t, 1, "no matching RTR")
			})
		}
	}
}
