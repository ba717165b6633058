package mpa

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// parseFPDUs says what a stream of FPDUs ought to bring, the plain way: all of it is there at once.
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

// FuzzReader gives a reader any stream in any parts. Each byte of parts says how much comes next, and whether the reader
// has to wait then: with a buffer of its own, or with none to be had.
func FuzzReader(f *testing.F) {
	for _, name := range capture.Names() {
		s := capture.Load(f, name)
		for _, stream := range [][]byte{s.Initiator, s.Responder} {
			startup, _ := capture.Split(f, stream)
			f.Add(stream[len(startup):len(startup)+3000], []byte{1, 0x42, 0x83, 0xff, 13, 0xbf}, name == capture.CRC)
		}
	}
	_, stream := streamOf(true, 14, 15, 100, 2000)
	f.Add(stream, []byte{1}, true)
	f.Add(stream[:len(stream)-1], []byte{0x84, 0x44}, true)
	f.Add([]byte{0, 13}, []byte{1}, false)
	f.Add(append(stream, 0, 14, 1), []byte{63}, false)
	f.Fuzz(func(t *testing.T, stream, parts []byte, crc bool) {
		want, wantRest, wantErr := parseFPDUs(stream, crc)

		// Without a connection, on which setting deadlines fails.
		c := &Conn{tcp: new(net.TCPConn)}
		r := &c.in
		r.crc = crc
		r.init(c)
		defer r.release()
		const none, wait = 0x80, 0x40
		var got collector
		var err error
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
			err = r.parse(&got)
			if err == nil && how&none != 0 {
				kept.Add(maxKept)
				r.idle()
				kept.Add(-maxKept)
			} else if err == nil && how&wait != 0 {
				r.idle()
			}
		}
		if !errors.Is(err, wantErr) || err != nil && wantErr == nil {
			t.Fatalf("got error %v, want %v", err, wantErr)
		}
		if d := diffULPDUs(want, got.ulpdus); d != "" {
			t.Fatalf("ULPDUs (-want +got):\n%s", d)
		}
		if err == nil && r.pending() != wantRest {
			t.Fatalf("%d bytes are left, want %d", r.pending(), wantRest)
		}
		r.release()
		if kept.Load() != 0 {
			t.Fatalf("%d buffers are kept", kept.Load())
		}
	})
}
