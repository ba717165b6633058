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

// These tests prove statements that docs/conformance.md lists by number, unless another test covers
// them.

// If the peer replies in an unusable revision, a dialer closes in order without sending anything,
// reports why, and does not try again: carrier-4-3, carrier-4-5, carrier-5.1-6.
func TestRevisionCloses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   iwarp.Config
		reply []byte
		count string
		want  error // ErrRevision if not set
	}{
		{"1 of too much private data, version 0 wanted", iwarp.Config{RNIC: mpa.RDMAC}, replyFrame(0xc0, 1, string(make([]byte, 513)))[:20], "HandshakeFailures", mpa.ErrFrame},
		{"0 without markers, permissive", iwarp.Config{RNIC: mpa.Permissive}, replyFrame(0x40, 0, ""), "HandshakeFailures", nil},
		{"1, version 0 wanted", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC}, replyFrame(0xc0, 1, ""), "HandshakeFailures", nil},
		{"1 in a reject, version 0 wanted", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC}, replyFrame(0x60, 1, ""), "Rejected", nil},
		{"2, to 1", iwarp.Config{Enhanced: mpa.EnhancedNever}, replyFrame(0, 2, ""), "HandshakeFailures", nil},
		{"3", iwarp.Config{}, replyFrame(0x10, 3, clientServer), "HandshakeFailures", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.CRC = iwarp.CRCOff
			r := newRig(t, true, tt.cfg)
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.readStartup()
			p.write(tt.reply)
			want := mpa.ErrRevision
			if tt.want != nil {
				want = tt.want
			}
			if d := hang.Receive(t, "Dial", dial); !errors.Is(d.err, want) || d.ep != nil {
				t.Errorf("Dial: got %v, %v, want %v", d.ep, d.err, want)
			}
			p.wantFIN()
			r.wantNoDial()
			r.wantCounters(map[string]int{tt.count: 1})
		})
	}
}

// An RTR by Read is sent, and its response taken, even if the upper layer may have no RDMA Reads at
// all: 6581-9.1-6.
func TestRTRReadWithoutORD(t *testing.T) {
	p, l := newRig(t, true, iwarp.Config{CRC: iwarp.CRCOff, PeerToPeer: true, RTR: mpa.RTRRead, ORD: -1}).connectAs("\x80\x01\x40\x00")
	rtr := p.wantReadRequest(1)
	l.start()
	if err := l.Post(&transport.WorkRequest{Op: transport.OpRead, Local: slices(make([]byte, 4)), Done: l}); !errors.Is(err, transport.ErrNoReads) {
		t.Errorf("Post of a Read: got error %v, want %v", err, transport.ErrNoReads)
	}
	p.send(segment(toSTag(rdmap.OpReadResponse, rtr.SinkSTag, rtr.SinkOffset), ""))
	alive(p, l)
}
