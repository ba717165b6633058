package iwarp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// FuzzResponder feeds bytes of a peer, after the startup, to a listening end with windows, receives
// and outstanding Reads. With markers, and with version 0, the FPDUs of the input are framed
// accordingly. Then one bit of them may be changed: number damage, counted from 1.
func FuzzResponder(f *testing.F) { fuzzStream(f, false) }

// FuzzInitiator does the same with a dialing end.
func FuzzInitiator(f *testing.F) { fuzzStream(f, true) }

func fuzzStream(f *testing.F, dialing bool) {
	addSeeds(f, dialing)
	shared := make(map[[2]bool]*rig)
	for _, markers := range []bool{false, true} {
		for _, rdmac := range []bool{false, true} {
			cfg := violationConfig(iwarp.CRCOff) // otherwise the CRC would stop nearly all inputs
			if rdmac {
				cfg = rdmacConfig()
			}
			if markers && !rdmac {
				cfg.Markers = mpa.MarkersOn
			}
			r := newLeakyRig(f, dialing, cfg)
			r.cfg.Logger, r.markers = quiet, markers
			shared[[2]bool{markers, rdmac}] = r
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, markers, rdmac bool, damage uint) {
		r := *shared[[2]bool{markers, rdmac}]
		r.t = t
		s := newViolationRig(t, &r)
		stream = bytes.Clone(stream)
		s.bind(stream, []rdmap.ReadRequest{s.read(0, 8), s.read(1, 64)})
		stream = s.reframe(stream)
		if bit := int(damage) - 1; bit >= 0 && bit/8 < len(stream) {
			stream[bit/8] ^= 1 << (bit % 8)
		}
		s.peer.write(stream)
		if err := s.conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		var last []byte
		for {
			seg, ok := s.next()
			if !ok {
				break
			}
			last = seg
		}
		s.wantFuzzed(last)
		s.conn.Close()
	})
}

// reframe frames the whole FPDUs at the beginning of a stream again, as p needs them.
func (p *peer) reframe(stream []byte) (out []byte) {
	if p.out == nil && !p.rdmac {
		return stream
	}
	for len(stream) > 2 {
		n := int(binary.BigEndian.Uint16(stream))
		size := (2+n+3)/4*4 + 4
		if size > len(stream) {
			break
		}
		out = append(out, p.frame(stream[2:2+n])...)
		stream = stream[size:]
	}
	return append(out, p.out.add(stream)...)
}

// wantFuzzed checks the state of a connection after arbitrary input that ended in the segment last.
func (s *violationRig) wantFuzzed(last []byte) {
	s.t.Helper()
	err := s.ended()
	var (
		op  *transport.OpError
		why *rdmap.Error
	)
	code := rdmap.Code(0) // a Terminate is expected
	switch {
	case errors.Is(err, mpa.ErrMarker):
		code = rdmap.MPAMarker
	case errors.Is(err, mpa.ErrCRC):
		code = rdmap.MPACRC
	case errors.As(err, &why) && !why.Remote:
		code = why.Code
	}
	typed := errors.Is(err, transport.ErrClosedByPeer) || errors.Is(err, mpa.ErrLength) ||
		why != nil || code != 0
	if !errors.As(err, &op) || !typed {
		s.t.Errorf("got error %v, want one with a type", err)
	}
	terminate := terminateSegment(nil)
	switch said := bytes.HasPrefix(last, terminate); {
	case code != 0:
		if !said || rdmap.Code(binary.BigEndian.Uint16(last[len(terminate):])) != code {
			s.t.Errorf("ended with %v, but the last segment is % x", err, last)
		}
	case said:
		s.t.Errorf("ended with %v, but there was a Terminate: % x", err, last)
	}
	// Only memory that the peer may write to may have changed.
	for i := range s.memory {
		inPiece, n := i%(2*pieceLen) < pieceLen, i/(2*pieceLen)
		open := inPiece && n < pieces && n >= atWritable && (n < atReadable || n >= atReceives)
		if !open && s.memory[i] != guard {
			s.t.Fatalf("byte %d, of piece %d, has been touched", i, n)
		}
	}
}

// The inputs use placeholders for tags: the windows of a scene, and the sinks of its Reads, have
// other tags each time.
const (
	tagWritable = iota + 1
	tagReadable
	tagInvalidatable
	tagDead
	tagSinks
)

// placeholder is the tag in the inputs for the sink of Read number i.
func placeholder(i int) transport.STag { return transport.STag(tagSinks + i) }

// bind replaces the placeholders in the segments of a stream with the real tags and offsets.
func (s *violationRig) bind(stream []byte, reads []rdmap.ReadRequest) {
	places := map[uint32]transport.Remote{
		tagWritable:      {STag: s.writable.STag, Offset: s.writable.Base},
		tagReadable:      {STag: s.readable.STag, Offset: s.readable.Base},
		tagInvalidatable: {STag: s.invalidatable.STag, Offset: s.invalidatable.Base},
		tagDead:          {STag: s.dead.STag, Offset: s.dead.Base},
	}
	for i, r := range reads {
		places[uint32(placeholder(i))] = transport.Remote{STag: r.SinkSTag, Offset: r.SinkOffset}
	}
	tag := func(b []byte) {
		if p, ok := places[binary.BigEndian.Uint32(b)]; ok {
			binary.BigEndian.PutUint32(b, uint32(p.STag))
		}
	}
	place := func(b []byte) {
		if p, ok := places[binary.BigEndian.Uint32(b)]; ok {
			binary.BigEndian.PutUint32(b, uint32(p.STag))
			binary.BigEndian.PutUint64(b[4:], binary.BigEndian.Uint64(b[4:])+p.Offset)
		}
	}
	for len(stream) > 2 {
		n := int(binary.BigEndian.Uint16(stream))
		size := (2+n+3)/4*4 + 4
		if size > len(stream) {
			return
		}
		seg := stream[2 : 2+n]
		stream = stream[size:]
		h, payload, err := ddp.Parse(seg)
		switch _, op := rdmap.ParseControl(h.Control); {
		case err != nil:
		case h.Tagged:
			place(seg[2:])
		case op.Invalidates():
			tag(seg[2:])
		case op == rdmap.OpReadRequest && len(payload) >= rdmap.ReadRequestLen:
			place(payload[16:])
		}
	}
}

// addSeeds adds protocol violations, correct traffic, and the captures of Linux.
func addSeeds(f *testing.F, dialing bool) {
	framer := &peer{t: f}
	add := func(segments ...[]byte) {
		var b []byte
		for _, s := range segments {
			b = append(b, framer.frame(s)...)
		}
		seed(f, b)
	}
	for _, v := range violations() {
		s := &violationRig{t: f, local: new(local), want: make([]byte, (pieces+1)*2*pieceLen)}
		s.writable.STag, s.readable.STag, s.invalidatable.STag, s.dead.STag = tagWritable, tagReadable, tagInvalidatable, tagDead
		s.other = s
		add(append([][]byte{segment(onQueue(rdmap.OpSend, 2), "together")}, v.segments(s)...)...)
	}
	for _, tt := range terminates {
		payload := terminateBytes(tt.code, segment(toSTag(rdmap.OpWrite, 1, 0), ""), !tt.bare,
			false)
		add(segment(onQueue(rdmap.OpTerminate, 1), string(payload)))
	}
	add(
		segment(with(toSTag(rdmap.OpReadResponse, placeholder(0), 0), more), "1234"),
		segment(onQueue(rdmap.OpReadRequest, 1), readRequest(tagReadable, 0, 64)),
		segment(with(onQueue(rdmap.OpSend, 2), more), "two "),
		segment(toSTag(rdmap.OpReadResponse, placeholder(0), 4), "5678"),
		segment(toSTag(rdmap.OpWrite, tagWritable, 60), "last"),
		segment(with(onQueue(rdmap.OpSend, 2), offset(4)), "segments"),
		segment(toSTag(rdmap.OpReadResponse, placeholder(1), 0), string(make([]byte, 64))),
		segment(with(onQueue(rdmap.OpSendSEInvalidate, 3), func(h *ddp.Header) { h.ULP = tagInvalidatable }), ""),
		segment(onQueue(rdmap.OpReadRequest, 2), readRequest(0, 0, 0)),
	)
	for _, name := range capture.Names() {
		session := capture.Load(f, name)
		stream := session.Initiator
		if dialing {
			stream = session.Responder
		}
		_, fpdus := capture.Split(f, stream)
		var b []byte
		for _, fpdu := range fpdus[:10] {
			b = append(b, fpdu.Raw...)
		}
		seed(f, b)
		seed(f, b[:len(b)-5])
		for _, damage := range []uint{8*3 + 6, 8*515 + 6,
			8*30 + 1} { // two markers and more
			f.Add(b, true, false, damage)
			f.Add(b, true, true, damage)
		}
	}
}

// seed adds a stream in each framing.
func seed(f *testing.F, stream []byte) {
	for _, markers := range []bool{false, true} {
		f.Add(stream, markers, false, uint(0))
	}
	f.Add(stream, true, true, uint(0))
}
