package iwarp_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// The peers of these tests are played by hand. They do what the drivers of Linux 6.1 do, in answer
// to what our side sends. The adapters were not at hand, and what else their firmware does is not
// known.

var presets = []struct {
	name   string
	config func() iwarp.Config
}{
	{"siw", iwarp.SiwConfig},
	{"Chelsio", iwarp.ChelsioConfig},
	{"Intel", iwarp.IntelConfig},
}

// words returns the two words of the enhanced data in a startup frame: the IRD with flags A and B,
// the ORD with flags C and D.
func words(frame []byte) (ird, ord uint16) {
	return binary.BigEndian.Uint16(frame[20:]), binary.BigEndian.Uint16(frame[22:])
}

// enhanced returns two words as enhanced data.
func enhanced(ird, ord uint16) string {
	return string(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, ird), ord))
}

// The fields of these words.
const (
	flagA, flagB = 0x8000, 0x4000 // of the first
	flagC, flagD = 0x8000, 0x4000 // of the second
	depth        = 0x3fff
)

// takesRTR makes the peer take our RTR, of the kind that it waits for.
func (p *peer) takesRTR(kind mpa.RTR) {
	p.t.Helper()
	switch kind {
	case mpa.RTRWrite:
		p.want("RTR", segment(toSTag(rdmap.OpWrite, 1, 0), ""))
	case mpa.RTRRead:
		r := p.wantReadRequest(1)
		if r.Len != 0 || r.SourceSTag == 0 || r.SinkSTag == 0 {
			p.t.Errorf("RTR by Read: got %+v, want one of length 0 without a 0 for an STag", r)
		}
		p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), ""))
	}
}

// readsRTR makes the peer send an RTR by Read, and take the response.
func (p *peer) readsRTR(r rdmap.ReadRequest) {
	p.t.Helper()
	p.send(segment(onQueue(rdmap.OpReadRequest, 1), string(r.Append(nil))))
	p.want("response to the RTR", segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), ""))
}

// transfers moves data in every way between a peer and our end, which have sent that many RDMA
// Reads so far.
func transfers(p *peer, l *local, theirs, ours uint32) {
	p.t.Helper()
	alive(p, l)
	w := l.expose(transport.RemoteWrite|transport.RemoteRead, make([]byte, 8))
	p.send(segment(toSTag(rdmap.OpWrite, w.STag, w.Base), "12345678"))
	if l.Info().IRD > 0 {
		p.send(segment(onQueue(rdmap.OpReadRequest, theirs+1), readRequest(w.STag, w.Base+4, 4)))
		p.want("response", segment(toSTag(rdmap.OpReadResponse, 0x51417a6, 0x1000), "5678"))
	}
	if l.Info().ORD > 0 {
		sink := make([]byte, 4)
		l.post(&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled, Local: slices(sink), Remote: transport.Remote{STag: 1}})
		r := p.wantReadRequest(ours + 1)
		p.send(segment(toSTag(rdmap.OpReadResponse, r.SinkSTag, r.SinkOffset), "data"))
		if err := hang.Receive(p.t, "completion", l.completions); err != nil || string(sink) != "data" {
			p.t.Errorf("read %q, %v", sink, err)
		}
	}
	alive(p, l)
	if len(l.completions) > 0 || len(l.messages) > 0 {
		p.t.Error("there is a completion or a message too many")
	}
}

// TestPresetsPrivateData sends as much private data as the preset allows. With one byte more,
// nothing is sent.
func TestPresetsPrivateData(t *testing.T) {
	for _, tt := range presets {
		for _, setup := range []struct {
			name  string
			limit int
			bits  byte
			rev   byte
		}{
			{"enhanced", 251, 0x50, 2},
			{"unenhanced", 255, 0x40, 1},
		} {
			cfg := tt.config()
			cfg.CRC = iwarp.CRCOn
			if setup.rev == 1 {
				cfg.Enhanced, cfg.PeerToPeer = mpa.EnhancedNever, false
			}
			fits, most := strings.Repeat("x", setup.limit), strings.Repeat("x", setup.limit+1)
			t.Run(tt.name+", "+setup.name+", dialing", func(t *testing.T) {
				r := newRig(t, true, cfg)
				_, err := iwarp.Dialer{Config: r.cfg}.Dial(t.Context(), r.peers.Addr().String(),
					transport.Private([]byte(most)))
				if !errors.Is(err, transport.ErrPrivateData) {
					t.Errorf("Dial: got error %v, want %v", err, transport.ErrPrivateData)
				}
				r.wantNoDial()

				ctx, cancel := context.WithCancel(t.Context())
				dial := make(chan error, 1)
				go func() {
					_, err := iwarp.Dialer{Config: r.cfg}.Dial(ctx, r.peers.Addr().String(),
						transport.Private([]byte(fits)))
					dial <- err
				}()
				p := acceptPeer(t, r.peers)
				request := p.readStartup()
				if n, want := len(request), 20+255; n != want || request[16] != setup.bits || request[17] != setup.rev {
					t.Errorf("request of %d bytes, bits %#02x, revision %d, want %d, %#02x, %d", n, request[16], request[17], want, setup.bits, setup.rev)
				}
				cancel()
				hang.Receive(t, "Dial", dial)
			})
			t.Run(tt.name+", "+setup.name+", listening", func(t *testing.T) {
				r := newRig(t, false, cfg)
				p := dialPeer(t, r.listener.Addr().String())
				private := ""
				if setup.rev == 2 {
					private = enhanced(flagA|2, flagD|2)
				}
				p.write(requestFrame(setup.bits, setup.rev, private))
				req := r.request()
				_, err := req.Accept(t.Context(), transport.Private([]byte(most)))
				if !errors.Is(err, transport.ErrPrivateData) {
					t.Errorf("Accept: got error %v, want %v", err, transport.ErrPrivateData)
				}
				if err := req.Reject([]byte(most)); !errors.Is(err, transport.ErrPrivateData) {
					t.Errorf("Reject: got error %v, want %v", err, transport.ErrPrivateData)
				}
				p.wantSilence()
				ep, err := req.Accept(t.Context(), transport.Private([]byte(fits)))
				if err != nil {
					t.Fatal(err)
				}
				defer ep.Close()
				if reply := p.readStartup(); len(reply) != 20+255 || reply[16] != setup.bits {
					t.Errorf("reply of %d bytes, bits %#02x, want %d, %#02x", len(reply), reply[16], 20+255, setup.bits)
				}
			})
		}
	}
}
