package iwarp_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// The maxima of adapters of the series 800.
const (
	intelIRD = 127
	intelORD = 255
)

// intelSees returns what the adapter makes of a frame of ours: the kind of RTR to send, of those
// named, and whether it goes on. It expects enhanced data in each frame of revision 2.
func intelSees(frame []byte) (rtr mpa.RTR, good bool) {
	if frame[17] == 1 {
		return mpa.RTRRead, true
	}
	if frame[17] != 2 || len(frame) < 24 {
		return 0, false
	}
	ird, ord := words(frame)
	switch {
	case ird&flagA == 0:
		return 0, false
	case ord&flagD != 0:
		return mpa.RTRRead, true
	case ord&flagC != 0:
		return mpa.RTRWrite, true
	}
	return 0, false
}

// intelReply returns the reply of a listening adapter, and the kind of RTR that it names. Without a
// reply, it resets the connection.
func intelReply(request []byte) (reply []byte, rtr mpa.RTR) {
	rtr, good := intelSees(request)
	switch {
	case !good:
		return nil, 0
	case request[17] == 1:
		return replyFrame(0x40, 1, ""), 0
	}
	theirIRD, theirORD := words(request)
	ird, ord := uint16(intelIRD), min(intelORD, theirIRD&depth)
	switch {
	case theirIRD&depth == depth || theirORD&depth == depth:
		ird, ord = depth, depth
	case theirORD&depth == 0 && rtr == mpa.RTRRead:
		ird = 1
	}
	flag := uint16(flagC)
	if rtr == mpa.RTRRead {
		flag = flagD
	}
	return replyFrame(0x50, 2, enhanced(ird|flagA, ord|flag)), rtr
}

// TestIntelListens connects our dialer to an Intel adapter.
func TestIntelListens(t *testing.T) {
	for _, tt := range []struct {
		name           string
		change         func(*iwarp.Config)
		request, reply []byte
		ird, ord       int
	}{
		{"preset", func(*iwarp.Config) {}, requestFrame(0x50, 2, "\x80\x10\xc0\x10"), replyFrame(0x50, 2, "\x80\x7f\x40\x10"), 16, 16},
		{"Write", func(c *iwarp.Config) { c.RTR = mpa.RTRWrite },
			requestFrame(0x50, 2, "\x80\x10\x80\x10"), replyFrame(0x50, 2, "\x80\x7f\x80\x10"), 16, 16},
		{"any RTR", func(c *iwarp.Config) { c.RTR = 0 },
			requestFrame(0x50, 2, "\xc0\x10\xc0\x10"), replyFrame(0x50, 2, "\x80\x7f\x40\x10"), 16, 16},
		{"no CRC wanted here", func(c *iwarp.Config) { c.CRC = iwarp.CRCOff },
			requestFrame(0x10, 2, "\x80\x10\xc0\x10"), replyFrame(0x50, 2, "\x80\x7f\x40\x10"), 16, 16},
		{"no reads of ours", func(c *iwarp.Config) { c.ORD = -1 },
			requestFrame(0x50, 2, "\x80\x10\xc0\x00"), replyFrame(0x50, 2, "\x80\x01\x40\x10"), 16, 0},
		{"no reads of the adapter's", func(c *iwarp.Config) { c.IRD = -1 },
			requestFrame(0x50, 2, "\x80\x00\xc0\x10"), replyFrame(0x50, 2, "\x80\x7f\x40\x00"), 0, 16},
		{"more reads than the adapter has", func(c *iwarp.Config) { c.IRD, c.ORD = 1000, 1000 },
			requestFrame(0x50, 2, "\x83\xe8\xc3\xe8"), replyFrame(0x50, 2, "\x80\x7f\x40\xff"), 1000, 127},
		{"reads left to the upper layer", func(c *iwarp.Config) { c.ManualReads = true },
			requestFrame(0x50, 2, "\xbf\xff\xff\xff"), replyFrame(0x50, 2, "\xbf\xff\x7f\xff"), 16, 16},
		{"unenhanced", func(c *iwarp.Config) { c.PeerToPeer, c.Enhanced = false, mpa.EnhancedNever },
			requestFrame(0x40, 1, ""), replyFrame(0x40, 1, ""), 16, mpa.UnenhancedORD},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.IntelConfig()
			tt.change(&cfg)
			reply, rtr := intelReply(tt.request)
			if string(reply) != string(tt.reply) {
				t.Fatalf("the adapter is played wrongly: it says % x, want % x", reply, tt.reply)
			}
			p, l := newRig(t, true, cfg).reached(tt.request, reply)
			if info := l.Info(); info.IRD != tt.ird || info.ORD != tt.ord {
				t.Errorf("IRD %d, ORD %d, want %d, %d", info.IRD, info.ORD, tt.ird, tt.ord)
			}
			l.start()
			p.takesRTR(rtr)
			ours := uint32(0)
			if rtr == mpa.RTRRead {
				ours = 1
			}
			if rtr == 0 { // our upper layer sends the first message
				l.send("first")
				p.wantMessage("first")
			}
			transfers(p, l, 0, ours)
		})
	}
}

// TestIntelRefuses has requests that the adapter answers with a reset.
func TestIntelRefuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(*iwarp.Config)
		request []byte
	}{
		{"RTR by Send", func(c *iwarp.Config) { c.RTR = mpa.RTRSend }, requestFrame(0x50, 2, "\xc0\x10\x00\x10")},
		{"client-server", func(c *iwarp.Config) { c.PeerToPeer, c.Enhanced = false, mpa.EnhancedRequired }, requestFrame(0x50, 2, "\x00\x10\x00\x10")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.IntelConfig()
			tt.change(&cfg)
			if reply, _ := intelReply(tt.request); reply != nil {
				t.Fatalf("the adapter is played wrongly: it says % x, want nothing", reply)
			}
			r := newRig(t, true, cfg)
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.wantStartup(tt.request)
			p.reset()
			if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, mpa.ErrUnenhanced) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, mpa.ErrUnenhanced)
			}
			r.wantNoDial()
		})
	}
}

// The adapter refuses the client-server model in an enhanced setup, so the second attempt is
// without one.
func TestIntelFallback(t *testing.T) {
	cfg := iwarp.IntelConfig()
	cfg.PeerToPeer = false
	r := newRig(t, true, cfg)
	dial := r.dial(t.Context())
	p := acceptPeer(t, r.peers)
	p.wantStartup(requestFrame(0x50, 2, "\x00\x10\x00\x10"))
	p.reset()
	p = acceptPeer(t, r.peers)
	p.crc = true
	request := requestFrame(0x40, 1, "")
	p.wantStartup(request)
	reply, _ := intelReply(request)
	p.write(reply)
	d := hang.Receive(t, "Dial", dial)
	if d.err != nil {
		t.Fatal(d.err)
	}
	l := newLocal(t, d.ep).start()
	l.send("first")
	p.wantMessage("first")
	transfers(p, l, 0, 0)
}

// TestIntelDials connects an Intel adapter to our listener. It offers a Write and a Read, and sends
// the Read if the reply has both.
func TestIntelDials(t *testing.T) {
	for _, tt := range []struct {
		name           string
		change         func(*iwarp.Config)
		request, reply []byte
		rtr            mpa.RTR
	}{
		{"preset", func(*iwarp.Config) {}, requestFrame(0x50, 2, "\x80\x7f\xc0\xff"), replyFrame(0x50, 2, "\x80\x10\xc0\x10"), mpa.RTRRead},
		{"one RTR", func(c *iwarp.Config) { c.OneRTR = true },
			requestFrame(0x50, 2, "\x80\x7f\xc0\xff"), replyFrame(0x50, 2, "\x80\x10\x80\x10"), mpa.RTRWrite},
		{"zero Config", func(c *iwarp.Config) { *c = iwarp.Config{} },
			requestFrame(0x50, 2, "\x80\x7f\xc0\xff"), replyFrame(0x50, 2, "\x80\x10\xc0\x10"), mpa.RTRRead},
		{"no IRD here", func(c *iwarp.Config) { c.IRD = -1 },
			requestFrame(0x50, 2, "\x80\x7f\xc0\xff"), replyFrame(0x50, 2, "\x80\x00\x80\x10"), mpa.RTRWrite},
		{"ORD 1, for the RTR", func(*iwarp.Config) {}, requestFrame(0x50, 2, "\x80\x01\xc0\x01"), replyFrame(0x50, 2, "\x80\x10\xc0\x01"), mpa.RTRRead},
		{"reads left to the upper layer", func(c *iwarp.Config) { c.ManualReads = true },
			requestFrame(0x50, 2, "\x80\x7f\xc0\xff"), replyFrame(0x50, 2, "\xbf\xff\xff\xff"), mpa.RTRRead},
		// After a reset it asks in revision 1. It sends the Read although it was not agreed on.
		{"revision 1", func(*iwarp.Config) {}, requestFrame(0x40, 1, ""), replyFrame(0x40, 1, ""), mpa.RTRRead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.IntelConfig()
			tt.change(&cfg)
			p, l := newRig(t, false, cfg).accepted(tt.request, tt.reply)
			if rtr, good := intelSees(tt.reply); !good || rtr != tt.rtr {
				t.Fatalf("the adapter is played wrongly: it sends %v, want %v", rtr, tt.rtr)
			}
			if ird, ord := words(append(tt.reply, 0, 0, 0, 0)); ird&depth == 0 && ord&flagD != 0 {
				t.Error("the reply names a Read without an IRD, which the adapter resets")
			}
			l.start()
			theirs := uint32(0)
			if tt.rtr == mpa.RTRRead {
				p.readsRTR(rdmap.ReadRequest{SinkSTag: 0xabcd, SourceSTag: 0x1234})
				theirs = 1
			} else {
				p.send(segment(toSTag(rdmap.OpWrite, 0, 0), "")) // without an STag
			}
			transfers(p, l, theirs, 0)
		})
	}
}

// Our refusal has enhanced data that the adapter understands: it checks that first.
func TestIntelRejected(t *testing.T) {
	r := newRig(t, false, iwarp.IntelConfig())
	p := dialPeer(t, r.listener.Addr().String())
	p.write(requestFrame(0x50, 2, "\x80\x7f\xc0\xff"))
	if err := r.request().Reject([]byte("no")); err != nil {
		t.Fatal(err)
	}
	reply := replyFrame(0x70, 2, "\x80\x10\xc0\x10no")
	p.wantStartup(reply)
	if _, good := intelSees(reply); !good {
		t.Error("the adapter resets the connection rather than tell of the refusal")
	}
	p.wantFIN()
}
