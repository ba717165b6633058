package iwarp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// FuzzResponder feeds what a peer sends, after the startup, to a listening end that has windows, receives and Reads outstanding.
func FuzzResponder(f *testing.F) { fuzzStream(f, false) }

// FuzzInitiator does so to a dialing end.
func FuzzInitiator(f *testing.F) { fuzzStream(f, true) }

func fuzzStream(f *testing.F, dialing bool) {
	addSeeds(f, dialing)
	cfg := sceneConfig(CRCOff) // or hardly an input would get past the CRC
	cfg.Logger = quiet
	shared := newLeakyRig(f, dialing, cfg)
	shared.cfg.Logger = quiet
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := *shared
		r.t = t
		s := newScene(t, &r)
		stream = bytes.Clone(stream)
		s.bind(stream, []rdmap.ReadRequest{s.read(0, 8), s.read(1, 64)})
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

// wantFuzzed checks what has become of a connection whose peer has sent anything, and to which last was the last segment sent.
func (s *scene) wantFuzzed(last []byte) {
	s.t.Helper()
	err := s.ended()
	var (
		op  *transport.OpError
		why *rdmap.Error
	)
	typed := errors.Is(err, transport.ErrClosedByPeer) || errors.Is(err, mpa.ErrLength) || errors.As(err, &why)
	if !errors.As(err, &op) || !typed {
		s.t.Errorf("got error %v, want one with a type", err)
	}
	terminate := terminateSegment(nil)
	switch said := bytes.HasPrefix(last, terminate); {
	case why != nil && !why.Remote:
		if !said || rdmap.Code(binary.BigEndian.Uint16(last[len(terminate):])) != why.Code {
			s.t.Errorf("ended with %v, but the last segment is % x", err, last)
		}
	case said:
		s.t.Errorf("ended with %v, but there was a Terminate: % x", err, last)
	}
	// Only what the peer may write to may have changed.
	for i := range s.memory {
		inPiece, n := i%(2*pieceLen) < pieceLen, i/(2*pieceLen)
		open := inPiece && n < pieces && n >= atWritable && (n < atReadable || n >= atReceives)
		if !open && s.memory[i] != guard {
			s.t.Fatalf("byte %d, of piece %d, has been touched", i, n)
		}
	}
}

// The tags in the inputs: the windows of a scene, and the sinks of its Reads, have others each time.
const (
	tagWritable = iota + 1
	tagReadable
	tagInvalidatable
	tagDead
	tagSinks
)

// placeholder is the tag of the sink of the Read number i.
func placeholder(i int) transport.STag { return transport.STag(tagSinks + i) }

// bind gives the segments of a stream the tags that they mean, and offsets from there.
func (s *scene) bind(stream []byte, reads []rdmap.ReadRequest) {
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

// addSeeds adds what peers do wrong, what they do right, and what Linux does.
func addSeeds(f *testing.F, dialing bool) {
	framer := &peer{t: f}
	add := func(segments ...[]byte) {
		var b []byte
		for _, s := range segments {
			b = append(b, framer.frame(s)...)
		}
		f.Add(b)
	}
	for _, v := range violations() {
		s := &scene{t: f, local: new(local), want: make([]byte, (pieces+1)*2*pieceLen)}
		s.writable.STag, s.readable.STag, s.invalidatable.STag, s.dead.STag = tagWritable, tagReadable, tagInvalidatable, tagDead
		s.other = s
		add(append([][]byte{segment(onQueue(rdmap.OpSend, 2), "together")}, v.segments(s)...)...)
	}
	for _, tt := range terminates {
		payload := terminateBytes(tt.code, segment(toSTag(rdmap.OpWrite, 1, 0), ""), !tt.bare, false)
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
		f.Add(b)
		f.Add(b[:len(b)-5])
	}
}
