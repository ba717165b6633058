package iwarp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// rdmacBits are the M and C bits, which every startup frame of revision 0 has.
const rdmacBits = 0xc0

// asRDMAC makes p an RDMAC RNIC after the startup.
func asRDMAC(p *peer) *peer {
	p.crc, p.rdmac = true, true
	p.mark(true, true)
	return p
}

// unenhancedSetup is the Setup of our end of a connection with an RDMAC peer.
func unenhancedSetup(initiator bool) mpa.Setup {
	return mpa.Setup{
		Setup:    ddp.Setup{Initiator: initiator, Version: 0, IRD: iwarp.DefaultReads, ORD: mpa.UnenhancedORD, PrivateData: []byte("peer")},
		Revision: 0, CRC: true, MarkersIn: true, MarkersOut: true, PeerIRD: -1, PeerORD: -1,
	}
}

// rdmacSend is the FPDU of a Send of "hello" in version 0, with CRC, at the beginning of a stream
// with markers.
func rdmacSend() []byte {
	b := []byte("\x00\x00\x00\x00" + // marker
		"\x00\x17" + // length
		"\x40\x03\x00\x00\x00\x00" + // L, DDP version 0; RDMAP version 0, Send
		"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00" + // queue 0, message 1, offset 0
		"hello" + "\x00\x00\x00")
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// converse checks that our end, which has posted nothing, speaks version 0: first byte by byte,
// then in bulk.
func converse(t *testing.T, p *peer, l *local, dialing bool) {
	t.Helper()
	l.receives(1)
	l.start()
	want := rdmacSend()
	ours := func() {
		l.send("hello")
		if diff := cmp.Diff(want, p.read(len(want))); diff != "" {
			t.Fatalf("Send (-want +got):\n%s", diff)
		}
	}
	if dialing {
		ours()
	}
	p.write(want)
	l.wantMessage("hello")
	if !dialing {
		ours()
	}
	// Both streams have begun.
	asRDMAC(p)
	p.out.add(want[4:])
	if _, err := p.in.add(want); err != nil {
		t.Fatal(err)
	}
	p.sends, p.takes = 1, 1
	alive(p, l)

	sent, written := data(bulk, 1), make([]byte, bulk)
	region := l.expose(transport.RemoteWrite, written)
	const most = 1400
	for at := 0; at < bulk; at += most {
		n := min(most, bulk-at)
		h := toSTag(rdmap.OpWrite, region.STag, region.Base+uint64(at))
		h.Last = at+n == bulk
		p.send(segment(h, string(sent[at:at+n])))
	}
	l.post(&transport.WorkRequest{Op: transport.OpWrite, Remote: transport.Remote{STag: 9, Offset: 100}, Local: slices(sent)})
	var got []byte
	for last := false; !last; {
		h, payload, err := ddp.Parse(p.segment())
		if err != nil {
			t.Fatal(err)
		}
		want := with(toSTag(rdmap.OpWrite, 9, uint64(100+len(got))), func(w *ddp.Header) { w.Last = h.Last })
		if diff := cmp.Diff(want, h); diff != "" {
			t.Fatalf("segment of a Write (-want +got):\n%s", diff)
		}
		got, last = append(got, payload...), h.Last
	}
	if !bytes.Equal(got, sent) {
		t.Error("what our end has written is not what it was given")
	}
	alive(p, l)
	if !bytes.Equal(written, sent) {
		t.Error("what the peer has written has not arrived")
	}
}

// TestRDMACInitiator plays the row of an RDMAC initiator of Figures 2 and 3 by hand (sections 5.2.1
// and 5.3.1).
func TestRDMACInitiator(t *testing.T) {
	for _, tt := range []struct {
		rnic    mpa.RNIC
		markers mpa.Markers
		reply   []byte
		connect bool
	}{
		{mpa.RDMAC, mpa.MarkersAuto, replyFrame(0xc0, 0, "us"), true},
		{mpa.RDMAC, mpa.MarkersOn, replyFrame(0xc0, 0, "us"), true},
		{mpa.Permissive, mpa.MarkersAuto, replyFrame(0xc0, 0, "us"), true},
		// N/A in Figure 3: never M=0
		{mpa.Permissive, mpa.MarkersOff, replyFrame(0xc0, 0, "us"), true},
		{mpa.Permissive, mpa.MarkersOn, replyFrame(0xc0, 0, "us"), true},
		{mpa.NonPermissive, mpa.MarkersOff, replyFrame(0x60, 1, ""), false},
		{mpa.NonPermissive, mpa.MarkersOn, replyFrame(0xe0, 1, ""), false},
	} {
		for _, crc := range []iwarp.CRC{iwarp.CRCOff, iwarp.CRCOn} {
			t.Run(fmt.Sprintf("%v, markers %d, CRC %t", tt.rnic, tt.markers, crc == iwarp.CRCOn), func(t *testing.T) {
				r := newRig(t, false, iwarp.Config{RNIC: tt.rnic, Markers: tt.markers, CRC: crc})
				p := dialPeer(t, r.listener.Addr().String())
				p.write(requestFrame(rdmacBits, 0, "peer"))
				ep, err := r.request().Accept(t.Context(), transport.Private([]byte("us")))
				p.wantStartup(tt.reply)
				if !tt.connect {
					p.wantFIN()
					if !errors.Is(err, mpa.ErrRevision) {
						t.Errorf("Accept: got error %v, want %v", err, mpa.ErrRevision)
					}
					r.wantCounters(map[string]int{"Rejected": 1})
					r.log.want(t, 1, "connection refused", p.conn.LocalAddr().String())
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				wantSetup(t, ep, unenhancedSetup(false))
				converse(t, p, newLocal(t, ep), false)
			})
		}
	}
}

// TestRDMACResponder plays the column of an RDMAC responder of Figures 2 and 3 by hand (sections
// 5.2.2 and 5.3.2).
func TestRDMACResponder(t *testing.T) {
	const reads = "\x00\x10\x00\x10"
	for _, tt := range []struct {
		name    string
		cfg     iwarp.Config
		request []byte
		want    error // nil: a connection
	}{
		{"RDMAC", iwarp.Config{RNIC: mpa.RDMAC}, requestFrame(0xc0, 0, ""), nil},
		{"permissive, as RDMAC", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC}, requestFrame(0xc0, 0, ""), nil},
		{"permissive M=0", iwarp.Config{RNIC: mpa.Permissive, Enhanced: mpa.EnhancedNever}, requestFrame(0x00, 1, ""), nil},
		{"permissive M=1", iwarp.Config{RNIC: mpa.Permissive, Enhanced: mpa.EnhancedNever, Markers: mpa.MarkersOn}, requestFrame(0x80, 1, ""), nil},
		{"permissive M=0 C=1", iwarp.Config{RNIC: mpa.Permissive, Enhanced: mpa.EnhancedNever, CRC: iwarp.CRCOn}, requestFrame(0x40, 1, ""), nil},
		{"permissive without markers", iwarp.Config{RNIC: mpa.Permissive, Enhanced: mpa.EnhancedNever, Markers: mpa.MarkersOff}, requestFrame(0x00, 1, ""), nil},
		{"permissive, enhanced M=0", iwarp.Config{RNIC: mpa.Permissive}, requestFrame(0x10, 2, reads), nil},
		{"permissive, enhanced M=1", iwarp.Config{RNIC: mpa.Permissive, Markers: mpa.MarkersOn}, requestFrame(0x90, 2, reads), nil},
		{"non-permissive M=0", iwarp.Config{Enhanced: mpa.EnhancedNever}, requestFrame(0x00, 1, ""), mpa.ErrRevision},
		{"non-permissive M=1", iwarp.Config{Enhanced: mpa.EnhancedNever, Markers: mpa.MarkersOn}, requestFrame(0x80, 1, ""), mpa.ErrRevision},
		{"non-permissive, enhanced", iwarp.Config{}, requestFrame(0x10, 2, reads), mpa.ErrRevision},
		{"permissive, for version 1", iwarp.Config{RNIC: mpa.Permissive, Version: mpa.VersionIETF}, requestFrame(0x10, 2, reads), mpa.ErrRevision},
		// An RDMAC peer knows no enhanced setup.
		{"permissive, enhanced required", iwarp.Config{RNIC: mpa.Permissive, Enhanced: mpa.EnhancedRequired}, requestFrame(0x10, 2, reads), mpa.ErrUnenhanced},
		{"permissive, peer-to-peer", iwarp.Config{RNIC: mpa.Permissive, PeerToPeer: true}, requestFrame(0x10, 2, "\xc0\x10\xc0\x10"), mpa.ErrUnenhanced},
		{"permissive, manual reads", iwarp.Config{RNIC: mpa.Permissive, ManualReads: true}, requestFrame(0x10, 2, "\x3f\xff\x3f\xff"), mpa.ErrUnenhanced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, true, tt.cfg)
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.wantStartup(tt.request)
			p.write(replyFrame(rdmacBits, 0, "peer"))
			d := hang.Receive(t, "Dial", dial)
			if tt.want != nil {
				p.wantFIN()
				var failed *mpa.StartupError
				if !errors.Is(d.err, tt.want) || !errors.As(d.err, &failed) || d.ep != nil {
					t.Errorf("Dial: got %v, %v, want a StartupError that wraps %v", d.ep, d.err, tt.want)
				}
				r.wantCounters(map[string]int{"HandshakeFailures": 1})
				r.wantNoDial()
				return
			}
			if d.err != nil {
				t.Fatal(d.err)
			}
			wantSetup(t, d.ep, unenhancedSetup(true))
			converse(t, p, newLocal(t, d.ep), true)
		})
	}
}

// TestRDMACAsked asks an RDMAC listener for what it does not have. It replies in revision 0 to any
// request, and a permissive peer goes on with that.
func TestRDMACAsked(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request []byte
	}{
		{"revision 1", requestFrame(0x00, 1, "peer")},
		{"revision 1 with markers and CRC", requestFrame(0xc0, 1, "peer")},
		{"revision 1 with the bit that is S in revision 2", requestFrame(0x10, 1, "peer")},
		{"revision 2, not enhanced", requestFrame(0x00, 2, "peer")},
		{"enhanced", requestFrame(0x10, 2, clientServer+"peer")},
		{"enhanced without reads", requestFrame(0x10, 2, "\x00\x00\x00\x00peer")},
		{"enhanced, peer-to-peer", requestFrame(0x10, 2, peerToPeer+"peer")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, false, iwarp.Config{RNIC: mpa.RDMAC})
			p := dialPeer(t, r.listener.Addr().String())
			p.write(tt.request)
			ep, err := r.request().Accept(t.Context(), transport.Private([]byte("us")))
			if err != nil {
				t.Fatal(err)
			}
			p.wantStartup(replyFrame(0xc0, 0, "us"))
			wantSetup(t, ep, unenhancedSetup(false))
			converse(t, p, newLocal(t, ep), false)
		})
	}
}

// TestRDMACAnswered has an RDMAC dialer whose peer answers as another kind of RNIC, or refuses.
func TestRDMACAnswered(t *testing.T) {
	for _, tt := range []struct {
		name   string
		reply  []byte
		want   error // error of package mpa; nil for a plain refusal
		reject bool
	}{
		{"revision 1", replyFrame(0xc0, 1, ""), mpa.ErrRevision, false},
		{"revision 2, enhanced", replyFrame(0xd0, 2, clientServer), mpa.ErrRevision, false},
		{"revision 3", replyFrame(0xc0, 3, ""), mpa.ErrRevision, false},
		{"without markers", replyFrame(0x40, 0, ""), mpa.ErrRevision, false},
		{"refused in revision 1", replyFrame(0x60, 1, "no"), mpa.ErrRevision, true},
		{"refused in revision 2", replyFrame(0x70, 2, clientServer+"no"), mpa.ErrRevision, true},
		{"refused", replyFrame(0xe0, 0, "no"), nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, true, iwarp.Config{RNIC: mpa.RDMAC})
			dial := r.dial(t.Context())
			p := acceptPeer(t, r.peers)
			p.wantStartup(requestFrame(0xc0, 0, ""))
			p.write(tt.reply)
			d := hang.Receive(t, "Dial", dial)
			p.wantFIN()
			var refused *mpa.RejectError
			if got := errors.As(d.err, &refused); d.ep != nil || d.err == nil || got != tt.reject {
				t.Errorf("Dial: got %v, %v, want a refusal: %t", d.ep, d.err, tt.reject)
			}
			if got := errors.Is(d.err, mpa.ErrRevision); got != (tt.want != nil) {
				t.Errorf("Dial: got error %v, want %v", d.err, tt.want)
			}
			counter := "HandshakeFailures"
			if tt.reject {
				counter = "Rejected"
			}
			r.wantCounters(map[string]int{counter: 1})
			r.wantNoDial()
		})
	}
}

// TestRevision0WithoutMarkers has requests of revision 0 that no RDMAC RNIC sends. The refusal says
// what is missing.
func TestRevision0WithoutMarkers(t *testing.T) {
	for _, rnic := range []mpa.RNIC{mpa.Permissive, mpa.RDMAC} {
		for _, bits := range []byte{0x00, 0x40} {
			t.Run(fmt.Sprintf("%v, bits %#02x", rnic, bits), func(t *testing.T) {
				r := newRig(t, false, iwarp.Config{RNIC: rnic})
				p := dialPeer(t, r.listener.Addr().String())
				p.write(requestFrame(bits, 0, ""))
				ep, err := r.request().Accept(t.Context(), transport.Private([]byte("secret")))
				if !errors.Is(err, mpa.ErrRevision) || ep != nil {
					t.Errorf("Accept: got %v, %v, want %v", ep, err, mpa.ErrRevision)
				}
				p.wantStartup(replyFrame(0xe0, 0, ""))
				p.wantFIN()
				r.wantCounters(map[string]int{"Rejected": 1})
			})
		}
	}
}

// An RDMAC RNIC always asks for CRC. CRC is used even without the C bit: there is no revision 0
// without it.
func TestRevision0WithoutCRC(t *testing.T) {
	r := newRig(t, false, iwarp.Config{RNIC: mpa.Permissive, CRC: iwarp.CRCOff})
	p := dialPeer(t, r.listener.Addr().String())
	p.write(requestFrame(0x80, 0, "peer"))
	ep, err := r.request().Accept(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.wantStartup(replyFrame(0xc0, 0, ""))
	converse(t, p, newLocal(t, ep), false)
}

// Reject answers an RDMAC peer in its revision, if this side has that.
func TestRDMACRejected(t *testing.T) {
	for _, tt := range []struct {
		rnic  mpa.RNIC
		reply []byte
	}{
		{mpa.RDMAC, replyFrame(0xe0, 0, "no")},
		{mpa.Permissive, replyFrame(0xe0, 0, "no")},
		{mpa.NonPermissive, replyFrame(0x60, 1, "no")},
	} {
		t.Run(tt.rnic.String(), func(t *testing.T) {
			r := newRig(t, false, iwarp.Config{RNIC: tt.rnic, CRC: iwarp.CRCOff})
			p := dialPeer(t, r.listener.Addr().String())
			p.write(requestFrame(rdmacBits, 0, ""))
			if err := r.request().Reject([]byte("no")); err != nil {
				t.Fatal(err)
			}
			p.wantStartup(tt.reply)
			p.wantFIN()
		})
	}
}
