package mpa

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// parseFPDUs returns what a stream of FPDUs should deliver, parsed in the simplest way.
func parseFPDUs(stream []byte, crc bool) (ulpdus [][]byte, rest int, err error) {
	for len(stream) >= 2 {
		n := int(stream[0])<<8 + int(stream[1])
		if n < 14 {
			return ulpdus, 0, ErrLength
		}
		if len(stream) < 2+n {
			break
		}
		ulpdu := stream[2 : 2+n]
		size := len(appendFPDU(nil, ulpdu, false))
		if len(stream) < size {
			break
		}
		covered, field := stream[:size-4], stream[size-4:size]
		if sum := crc32c(covered); crc && !bytes.Equal(field, []byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)}) {
			return ulpdus, 0, ErrCRC
		}
		ulpdus = append(ulpdus, ulpdu)
		stream = stream[size:]
	}
	return ulpdus, len(stream), nil
}

// newReader returns a reader without a connection. Setting a deadline on it fails.
func newReader(crc, markers bool) *reader {
	c := &Conn{conn: new(net.TCPConn)}
	c.in.c, c.in.sink, c.in.crc, c.in.markers = c, new(collector), crc, markers
	return &c.in
}

// give gives a reader a stream in parts. Each byte of parts says how much comes next, and whether
// the reader then waits, keeping its buffer or not.
func (r *reader) give(stream, parts []byte, sink ddp.Sink) (err error) {
	const none, wait = 0x80, 0x40
	for i := 0; err == nil && len(stream) > 0; i++ {
		how := byte(63)
		if len(parts) > 0 {
			how = parts[i%len(parts)]
		}
		k := int(how&63) + 1
		if how&(none|wait) == none|wait {
			k *= 100
		}
		k = copy(r.space(), stream[:min(k, len(stream))])
		stream = stream[k:]
		r.n += k
		if r.markers {
			err = r.parseMarked(sink)
		} else {
			err = r.parse(sink)
		}
		if err == nil && how&none != 0 {
			kept.Add(maxKept)
			r.idle()
			kept.Add(-maxKept)
		} else if err == nil && how&wait != 0 {
			r.idle()
		}
	}
	return err
}

// FuzzReader gives a reader any stream in any parts. With markers, the stream begins at any
// position that an FPDU can have.
func FuzzReader(f *testing.F) {
	for _, name := range capture.Names() {
		s := capture.Load(f, name)
		for _, stream := range [][]byte{s.Initiator, s.Responder} {
			startup, _ := capture.Split(f, stream)
			f.Add(stream[len(startup):len(startup)+3000], []byte{1, 0x42, 0x83, 0xff, 13, 0xbf}, name == capture.CRC, false, uint16(0))
		}
	}
	_, stream := streamOf(true, 14, 15, 100, 2000)
	f.Add(stream, []byte{1}, true, false, uint16(0))
	f.Add(stream[:len(stream)-1], []byte{0x84, 0x44}, true, false, uint16(0))
	f.Add([]byte{0, 13}, []byte{1}, false, false, uint16(0))
	f.Add(append(stream, 0, 14, 1), []byte{63}, false, false, uint16(0))
	for _, crc := range []bool{false, true} {
		for _, position := range []uint16{0, 1, 100, 127} {
			_, s := markedOf(4*int(position), crc, 14, 15, 480, 1001, 14)
			f.Add(s.out, []byte{1, 0x42, 0x83, 0xff, 13, 0xbf}, crc, true, position)
			f.Add(s.out[:len(s.out)-1], []byte{0xc4, 0x44}, crc, true, position)
			f.Add(append(s.out, 0, 0, 0, 0, 0, 13), []byte{63}, crc, true, position)
		}
	}
	_, wrong := markedOf(0, false, 14, 15, 2000)
	wrong.out[2*512+3] ^= 4
	f.Add(wrong.out, []byte{0xc1}, false, true, uint16(0))
	f.Fuzz(func(t *testing.T, stream, parts []byte, crc, markers bool, position uint16) {
		before := kept.Load()
		r := newReader(crc, markers)
		defer r.release()
		var want [][]byte
		var wantRest int
		var wantErr error
		if markers {
			r.pos = 4 * int(position)
			s := unmarkAll(r.pos, stream, crc)
			want, wantRest, wantErr = s.ulpdus, len(s.covered), s.err
		} else {
			want, wantRest, wantErr = parseFPDUs(stream, crc)
		}
		var got collector
		err := r.give(stream, parts, &got)
		if !errors.Is(err, wantErr) || err != nil && wantErr == nil {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		if d := diffULPDUs(want, got.ulpdus); d != "" {
			t.Fatalf("ULPDUs (-want +got):\n%s", d)
		}
		if err == nil && held(r) != wantRest {
			t.Fatalf("%d bytes are left, want %d", held(r), wantRest)
		}
		r.release()
		if kept.Load() != before {
			t.Fatalf("%d buffers are kept, want %d as before", kept.Load(), before)
		}
	})
}
