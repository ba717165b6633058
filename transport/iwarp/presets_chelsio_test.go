package iwarp_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// chelsioReads is what the upper layer of the adapter asks for; chelsioMost is the maximum of the
// adapter.
const (
	chelsioReads = 8
	chelsioMost  = 32
)

// chelsioReply returns the reply of a listening adapter to an enhanced request, and the kind of RTR
// that it waits for. It waits for a Write if one is offered, but names what it is configured for, a
// Read.
func chelsioReply(request []byte) (reply []byte, waits mpa.RTR) {
	theirIRD, theirORD := words(request)
	ird := max(chelsioReads, min(theirORD&depth, chelsioMost))
	ord := min(chelsioReads, theirIRD&depth)
	if theirIRD&flagA != 0 {
		switch {
		case theirORD&flagC != 0:
			waits = mpa.RTRWrite
		case theirORD&flagD != 0:
			waits = mpa.RTRRead
		}
	}
	if waits != 0 {
		ird |= flagA
		ord |= flagD
	}
	return replyFrame(0x50, 2, enhanced(ird, ord)), waits
}

// TestChelsioListens connects our dialer to a Chelsio adapter.
func TestChelsioListens(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   func(*iwarp.Config)
		request  string
		reply    string
		ird, ord int
	}{
		{"client-server", func(*iwarp.Config) {}, "\x00\x10\x00\x10", "\x00\x10\x00\x08", 16, 16},
		{"peer-to-peer", func(c *iwarp.Config) { c.PeerToPeer = true }, "\x80\x10\x40\x10", "\x80\x10\x40\x08", 16, 16},
		{"more reads than the adapter has", func(c *iwarp.Config) { c.IRD, c.ORD = 100, 100 }, "\x00\x64\x00\x64", "\x00\x20\x00\x08", 100, 32},
		{"no reads of ours", func(c *iwarp.Config) { c.PeerToPeer, c.ORD = true, -1 }, "\x80\x10\x40\x00", "\x80\x08\x40\x08", 16, 0},
		{"no reads of the adapter's", func(c *iwarp.Config) { c.PeerToPeer, c.IRD = true, -1 }, "\x80\x00\x40\x10", "\x80\x10\x40\x00", 0, 16},
		{"reads left to the upper layer", func(c *iwarp.Config) { c.ManualReads = true }, "\x3f\xff\x3f\xff", "\x00\x20\x00\x08", 16, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.ChelsioConfig()
			tt.change(&cfg)
			request := requestFrame(0x50, 2, tt.request)
			reply, waits := chelsioReply(request)
			if want := string(replyFrame(0x50, 2, tt.reply)); string(reply) != want {
				t.Fatalf("the adapter is played wrongly: it says % x, want % x", reply, want)
			}
			p, l := newRig(t, true, cfg).reached(request, reply)
			if info := l.Info(); info.IRD != tt.ird || info.ORD != tt.ord {
				t.Errorf("IRD %d, ORD %d, want %d, %d", info.IRD, info.ORD, tt.ird, tt.ord)
			}
			p.takesRTR(waits)
			ours := uint32(0)
			if waits == mpa.RTRRead {
				ours = 1
			}
			transfers(p, l.start(), 0, ours)
		})
	}
}

// Without the preset, a dialer also offers a Write. The adapter waits for that but names a Read, so
// no connection is possible.
func TestChelsioWaitsForWrite(t *testing.T) {
	cfg := iwarp.ChelsioConfig()
	cfg.PeerToPeer, cfg.RTR = true, 0
	request := requestFrame(0x50, 2, "\xc0\x10\xc0\x10")
	reply, waits := chelsioReply(request)
	if waits != mpa.RTRWrite {
		t.Fatalf("the adapter is played wrongly: it waits for %v, want a Write", waits)
	}
	p, l := newRig(t, true, cfg).reached(request, reply)
	p.wantReadRequest(1)
	p.reset()
	if err := l.start().ended(); !errors.Is(err, transport.ErrClosedByPeer) {
		t.Errorf("got error %v, want %v", err, transport.ErrClosedByPeer)
	}
}

// chelsioRTR returns the RTR that a dialing adapter, which has offered one kind, sends after a
// reply, or 0 if it terminates. A reply of revision 1 changes nothing.
func chelsioRTR(reply []byte, offered mpa.RTR) mpa.RTR {
	if reply[17] == 1 {
		return offered
	}
	ird, ord := words(reply)
	sees := mpa.RTR(0)
	switch {
	case ird&flagA == 0:
	case ord&flagC != 0:
		sees = mpa.RTRWrite
	case ord&flagD != 0:
		sees = mpa.RTRRead
	}
	if sees != offered {
		return 0
	}
	return sees
}

// TestChelsioDials connects a Chelsio adapter to our listener.
func TestChelsioDials(t *testing.T) {
	for _, tt := range []struct {
		name           string
		change         func(*iwarp.Config)
		offers         mpa.RTR // of the adapter
		request, reply []byte
		rtr            mpa.RTR // 0: terminated
	}{
		{"preset", nil, mpa.RTRRead, requestFrame(0x50, 2, "\x80\x10\x40\x10"), replyFrame(0x50, 2, "\x80\x10\x40\x10"), mpa.RTRRead},
		{"ORD 1", nil, mpa.RTRRead, requestFrame(0x50, 2, "\x80\x20\x40\x01"), replyFrame(0x50, 2, "\x80\x10\x40\x10"), mpa.RTRRead},
		{"draft-05", func(c *iwarp.Config) { c.Draft05 = true }, mpa.RTRRead,
			requestFrame(0x50, 2, "\x80\x20\x40\x01"), replyFrame(0x50, 2, "\x80\x01\x40\x10"), mpa.RTRRead},
		{"any RTR, but one", func(c *iwarp.Config) { c.RTR = 0 }, mpa.RTRRead,
			requestFrame(0x50, 2, "\x80\x10\x40\x10"), replyFrame(0x50, 2, "\x80\x10\x40\x10"), mpa.RTRRead},
		// No adapter does this. Here it would matter.
		{"offers two, takes one", func(c *iwarp.Config) { c.RTR = 0 }, mpa.RTRWrite,
			requestFrame(0x50, 2, "\x80\x10\xc0\x10"), replyFrame(0x50, 2, "\x80\x10\x80\x10"), mpa.RTRWrite},
		{"zero Config", func(c *iwarp.Config) { *c = iwarp.Config{} }, mpa.RTRRead,
			requestFrame(0x50, 2, "\x80\x10\x40\x10"), replyFrame(0x50, 2, "\x80\x10\x40\x10"), mpa.RTRRead},
		{"set to Write", func(c *iwarp.Config) { c.RTR = mpa.RTRWrite }, mpa.RTRWrite,
			requestFrame(0x50, 2, "\x80\x10\x80\x10"), replyFrame(0x50, 2, "\x80\x10\x80\x10"), mpa.RTRWrite},
		{"set to Write, we are not", nil, mpa.RTRWrite,
			requestFrame(0x50, 2, "\x80\x10\x80\x10"), replyFrame(0x50, 2, "\x80\x10\x40\x10"), 0},
		// Without an IRD we accept no Read, and name what we would accept: a Write and a Send.
		{"no IRD here", func(c *iwarp.Config) { c.RTR, c.OneRTR, c.IRD = 0, false, -1 }, mpa.RTRRead,
			requestFrame(0x50, 2, "\x80\x10\x40\x10"), replyFrame(0x50, 2, "\xc0\x00\x80\x10"), 0},
		// The Read was not agreed on, but is sent.
		{"revision 1", nil, mpa.RTRRead, requestFrame(0x40, 1, ""), replyFrame(0x40, 1, ""), mpa.RTRRead},
		{"revision 1, set to Write", nil, mpa.RTRWrite, requestFrame(0x40, 1, ""), replyFrame(0x40, 1, ""), mpa.RTRWrite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.ChelsioConfig()
			if tt.change != nil {
				tt.change(&cfg)
			}
			p, l := newRig(t, false, cfg).accepted(tt.request, tt.reply)
			l.start()
			rtr := chelsioRTR(tt.reply, tt.offers)
			if rtr != tt.rtr {
				t.Fatalf("the adapter is played wrongly: it sends %v, want %v", rtr, tt.rtr)
			}
			theirs := uint32(0)
			switch rtr {
			case mpa.RTRRead:
				p.readsRTR(rdmap.ReadRequest{SinkSTag: 1, SinkOffset: 1, SourceSTag: 1, SourceOffset: 1})
				theirs = 1
			case mpa.RTRWrite:
				p.send(segment(toSTag(rdmap.OpWrite, 1, 1), ""))
			default:
				p.send(segment(onQueue(rdmap.OpTerminate, 1), "\x23\x07\x00\x00"))
				p.wantFIN()
				wantTerminated(t, l.ended(), rdmap.MPARTR, true, nil)
				return
			}
			transfers(p, l, theirs, 0)
		})
	}
}

// If our reply asks for more reads than the adapter has, the adapter sends a Terminate of
// draft-ietf-storm-mpa-peer-connect-05.
func TestChelsioTerminates(t *testing.T) {
	r := newRig(t, false, iwarp.ChelsioConfig())
	p, l := r.accepted(requestFrame(0x50, 2, "\x80\x10\x40\x10"), replyFrame(0x50, 2, "\x80\x10\x40\x10"))
	l.start()
	p.send(segment(onQueue(rdmap.OpTerminate, 1), "\x23\x06\x00\x00"))
	p.wantFIN()
	wantTerminated(t, l.ended(), rdmap.MPAIRD, true, nil)
	r.wantCounters(map[string]int{"Connections": 1, "TerminatesReceived": 1})
}

// An adapter that only knows revision 1 closes on an enhanced request. It is not asked again, as it
// would wait for an RTR then.
func TestChelsioIsNotAskedAgain(t *testing.T) {
	r := newRig(t, true, iwarp.ChelsioConfig())
	dial := r.dial(t.Context())
	p := acceptPeer(t, r.peers)
	p.readStartup()
	p.reset()
	if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, mpa.ErrUnenhanced) {
		t.Errorf("Dial: got error %v, want %v", d.err, mpa.ErrUnenhanced)
	}
	r.wantNoDial()
}
