package iwarp_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// siwReads is siw's maximum IRD and ORD.
const siwReads = 128

// siwReply returns the reply of a listening siw, which repeats the bits of the request, and the
// kind of RTR that it waits for. Its upper layer accepts what is offered.
func siwReply(request []byte) (reply []byte, rtr mpa.RTR) {
	bits, revision := request[16], request[17]
	if bits&0x80 != 0 {
		bits = bits&^0x80 | 0x20
		if bits&0x10 != 0 {
			return replyFrame(bits, revision, enhanced(0, 0)), 0
		}
		return replyFrame(bits, revision, ""), 0
	}
	if bits&0x10 == 0 {
		return replyFrame(bits, revision, ""), 0
	}
	theirIRD, theirORD := words(request)
	ird, ord := min(theirORD&depth, siwReads), min(theirIRD&depth, siwReads)
	switch {
	case theirIRD&flagA == 0:
	case theirORD&flagC == 0 && theirORD&flagD != 0:
		rtr, ird, ord = mpa.RTRRead, ird|flagA, ord|flagD
	default:
		rtr, ird, ord = mpa.RTRWrite, ird|flagA, ord|flagC
	}
	return replyFrame(bits, revision, enhanced(ird, ord)), rtr
}

// TestSiwListens connects our dialer to siw.
func TestSiwListens(t *testing.T) {
	for _, tt := range []struct {
		name           string
		change         func(*iwarp.Config)
		request, reply []byte
		ird, ord       int
	}{
		{"preset", func(*iwarp.Config) {}, requestFrame(0x10, 2, "\x00\x10\x00\x10"), replyFrame(0x10, 2, "\x00\x10\x00\x10"), 16, 16},
		{"CRC", func(c *iwarp.Config) { c.CRC = iwarp.CRCOn }, requestFrame(0x50, 2, "\x00\x10\x00\x10"), replyFrame(0x50, 2, "\x00\x10\x00\x10"), 16, 16},
		{"peer-to-peer", func(c *iwarp.Config) { c.PeerToPeer = true },
			requestFrame(0x10, 2, "\x80\x10\xc0\x10"), replyFrame(0x10, 2, "\x80\x10\x80\x10"), 16, 16},
		{"peer-to-peer by Read", func(c *iwarp.Config) { c.PeerToPeer, c.RTR = true, mpa.RTRRead },
			requestFrame(0x10, 2, "\x80\x10\x40\x10"), replyFrame(0x10, 2, "\x80\x10\x40\x10"), 16, 16},
		{"more reads than siw has", func(c *iwarp.Config) { c.IRD, c.ORD = 300, 300 },
			requestFrame(0x10, 2, "\x01\x2c\x01\x2c"), replyFrame(0x10, 2, "\x00\x80\x00\x80"), 300, 128},
		{"reads left to the upper layer", func(c *iwarp.Config) { c.ManualReads = true },
			requestFrame(0x10, 2, "\x3f\xff\x3f\xff"), replyFrame(0x10, 2, "\x00\x80\x00\x80"), 16, 16},
		{"unenhanced", func(c *iwarp.Config) { c.Enhanced = mpa.EnhancedNever },
			requestFrame(0x00, 1, ""), replyFrame(0x00, 1, ""), 16, mpa.UnenhancedORD},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.SiwConfig()
			tt.change(&cfg)
			reply, rtr := siwReply(tt.request)
			if string(reply) != string(tt.reply) {
				t.Fatalf("siw is played wrongly: it says % x, want % x", reply, tt.reply)
			}
			p, l := newRig(t, true, cfg).reached(tt.request, reply)
			if info := l.Info(); info.IRD != tt.ird || info.ORD != tt.ord {
				t.Errorf("IRD %d, ORD %d, want %d, %d", info.IRD, info.ORD, tt.ird, tt.ord)
			}
			p.takesRTR(rtr)
			ours := uint32(0)
			if rtr == mpa.RTRRead {
				ours = 1
			}
			transfers(p, l.start(), 0, ours)
		})
	}
}

// TestSiwRefusesMarkers has a dialer that wants markers, by choice or by necessity. siw refuses, in
// the revision of the request.
func TestSiwRefusesMarkers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(*iwarp.Config)
		request []byte
		reply   []byte
		want    mpa.RejectError
	}{
		{"markers", func(c *iwarp.Config) { c.Markers = mpa.MarkersOn },
			requestFrame(0x90, 2, "\x00\x10\x00\x10"), replyFrame(0x30, 2, "\x00\x00\x00\x00"), mpa.RejectError{Enhanced: true}},
		{"RDMAC", func(c *iwarp.Config) { c.Markers, c.RNIC = mpa.MarkersAuto, mpa.RDMAC },
			requestFrame(0xc0, 0, ""), replyFrame(0x60, 0, ""), mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.SiwConfig()
			tt.change(&cfg)
			reply, _ := siwReply(tt.request)
			if string(reply) != string(tt.reply) {
				t.Fatalf("siw is played wrongly: it says % x, want % x", reply, tt.reply)
			}
			r := newRig(t, true, cfg)
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.wantStartup(tt.request)
			p.write(reply)
			d := hang.Receive(t, "Dial", dial)
			var got *mpa.RejectError
			if !errors.As(d.err, &got) || d.ep != nil {
				t.Fatalf("Dial: got %v, %v, want a *mpa.RejectError", d.ep, d.err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
			p.wantFIN()
			r.wantCounters(map[string]int{"Rejected": 1})
		})
	}
}

// siw names a Write if only a Send is offered. So no RTR is possible.
func TestSiwTakesNoSend(t *testing.T) {
	cfg := iwarp.SiwConfig()
	cfg.PeerToPeer, cfg.RTR = true, mpa.RTRSend
	r := newRig(t, true, cfg)
	dial := r.dial(t.Context())
	p := acceptPeer(t, r.peers)
	request := p.readStartup()
	reply, _ := siwReply(request)
	p.write(reply)
	if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, mpa.ErrNoMatchingRTR) {
		t.Errorf("Dial: got error %v, want %v", d.err, mpa.ErrNoMatchingRTR)
	}
	p.wantTerminate([]byte{0x20, 0x07, 0, 0})
}

// TestSiwDials connects siw to our listener, with the private data of Linux's NFS client.
func TestSiwDials(t *testing.T) {
	const nfs = "\xf6\xab\x0e\x18\x01\x01\x03\x03"
	for _, tt := range []struct {
		name           string
		change         func(*iwarp.Config)
		request, reply []byte
		rtr            mpa.RTR // that siw sends
		terminate      bool
	}{
		{"preset", func(*iwarp.Config) {}, requestFrame(0x10, 2, "\x00\x80\x00\x00"+nfs), replyFrame(0x10, 2, "\x00\x10\x00\x10"), 0, false},
		{"CRC", func(*iwarp.Config) {}, requestFrame(0x50, 2, "\x00\x80\x00\x00"+nfs), replyFrame(0x50, 2, "\x00\x10\x00\x10"), 0, false},
		{"draft-05", func(c *iwarp.Config) { c.Draft05 = true },
			requestFrame(0x10, 2, "\x00\x80\x00\x00"+nfs), replyFrame(0x10, 2, "\x00\x00\x00\x10"), 0, false},
		{"peer-to-peer", func(*iwarp.Config) {},
			requestFrame(0x10, 2, "\x80\x80\xc0\x01"+nfs), replyFrame(0x10, 2, "\x80\x10\xc0\x10"), mpa.RTRWrite, false},
		{"peer-to-peer by Read", func(c *iwarp.Config) { c.RTR = mpa.RTRRead },
			requestFrame(0x10, 2, "\x80\x80\xc0\x01"+nfs), replyFrame(0x10, 2, "\x80\x10\x40\x10"), mpa.RTRRead, false},
		{"peer-to-peer by Send", func(c *iwarp.Config) { c.RTR = mpa.RTRSend },
			requestFrame(0x10, 2, "\x80\x80\xc0\x01"+nfs), replyFrame(0x10, 2, "\xc0\x10\x00\x10"), 0, true},
		{"revision 1", func(*iwarp.Config) {}, requestFrame(0x00, 1, nfs), replyFrame(0x00, 1, ""), 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := iwarp.SiwConfig()
			tt.change(&cfg)
			p, l := newRig(t, false, cfg).accepted(tt.request, tt.reply)
			if got := string(l.Info().PrivateData); got != nfs {
				t.Errorf("private data % x, want % x", got, nfs)
			}
			l.start()
			theirs := uint32(0)
			switch {
			case tt.terminate:
				p.send(segment(onQueue(rdmap.OpTerminate, 1), "\x02\x07\x00\x00")) // in siw's form
				p.wantFIN()
				wantTerminated(t, l.ended(), rdmap.MPARTR, true, nil)
				return
			case tt.rtr == mpa.RTRWrite:
				p.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
			case tt.rtr == mpa.RTRRead:
				p.readsRTR(rdmap.ReadRequest{SourceSTag: 1})
				theirs = 1
			}
			transfers(p, l, theirs, 0)
		})
	}
}
