package mpa

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/capture"
)

// streamOf returns ULPDUs of the sizes, and the stream of their FPDUs.
func streamOf(crc bool, sizes ...int) (ulpdus [][]byte, stream []byte) {
	for i, n := range sizes {
		ulpdus = append(ulpdus, text(n, i))
		stream = appendFPDU(stream, ulpdus[i], crc)
	}
	return ulpdus, stream
}

func TestReceiveCaptures(t *testing.T) {
	for _, name := range capture.Names() {
		s := capture.Load(t, name)
		for side, stream := range map[string][]byte{"initiator": s.Initiator, "responder": s.Responder} {
			t.Run(name+", "+side, func(t *testing.T) {
				startup, fpdus := capture.Split(t, stream)
				var want [][]byte
				for _, f := range fpdus {
					want = append(want, f.ULPDU)
				}
				c, peer := newConn(t, ConnOptions{CRC: name == capture.CRC})
				go hangUp(t, peer, stream[len(startup):])
				var got collector
				if err := receiveAll(c, &got); err != io.EOF {
					t.Errorf("got error %v, want %v", err, io.EOF)
				}
				if d := diffULPDUs(want, got.ulpdus); d != "" {
					t.Errorf("ULPDUs (-want +got):\n%s", d)
				}
			})
		}
	}
}

// Two FPDUs in two parts, with every boundary.
func TestReceiveSplit(t *testing.T) {
	for _, crc := range []bool{false, true} {
		t.Run(fmt.Sprintf("CRC %t", crc), func(t *testing.T) {
			ulpdus, stream := streamOf(crc, 14, 61)
			c, peer := newConn(t, ConnOptions{CRC: crc})
			for k := range stream {
				var got collector
				write(t, peer, stream[:k])
				receiveUntil(t, c, &got, k)
				if want := ulpdus[:min(k/20, 1)]; len(got.ulpdus) != len(want) {
					t.Fatalf("behind %d bytes: got %d ULPDUs, want %d", k, len(got.ulpdus), len(want))
				}
				write(t, peer, stream[k:])
				receiveUntil(t, c, &got, len(stream))
				if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
					t.Fatalf("behind %d bytes: ULPDUs (-want +got):\n%s", k, d)
				}
			}
		})
	}
}

// One byte at a time.
func TestReceiveBytes(t *testing.T) {
	ulpdus, stream := streamOf(true, 14, 15, 16, 17, 18, 200)
	c, peer := newConn(t, ConnOptions{CRC: true})
	var got collector
	for i := range stream {
		write(t, peer, stream[i:i+1])
		receiveUntil(t, c, &got, i+1)
	}
	if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
		t.Errorf("ULPDUs (-want +got):\n%s", d)
	}
}

// FPDUs of all sizes, in parts of all sizes.
func TestReceiveRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		crc := rapid.Bool().Draw(r, "CRC")
		size := rapid.OneOf(rapid.IntRange(14, 90), rapid.IntRange(1400, 1500), rapid.IntRange(65500, 65535))
		ulpdus, stream := streamOf(crc, rapid.SliceOfN(size, 1, 12).Draw(r, "sizes")...)
		part := rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 2000), rapid.IntRange(1, 200000))
		c, peer := newConn(r, ConnOptions{CRC: crc})
		defer peer.Close()
		defer c.Close(false)
		var got collector
		for at := 0; at < len(stream); {
			// Limited to the socket buffers, so that write does not wait.
			k := min(part.Draw(r, "part"), len(stream)-at, 60000)
			write(t, peer, stream[at:at+k])
			at += k
			receiveUntil(t, c, &got, at)
		}
		hangUp(t, peer, nil)
		if err := receiveAll(c, &got); err != io.EOF {
			r.Errorf("got error %v, want %v", err, io.EOF)
		}
		if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
			r.Errorf("ULPDUs (-want +got):\n%s", d)
		}
	})
}

// Very many FPDUs as fast as possible, small ones and the largest.
func TestReceiveMany(t *testing.T) {
	for _, tt := range []struct{ size, n int }{{14, 50000}, {17, 50000}, {1442, 2000}, {65535, 60}} {
		t.Run(fmt.Sprint(tt.size), func(t *testing.T) {
			ulpdus, stream := streamOf(false, slices.Repeat([]int{tt.size}, tt.n)...)
			c, peer := newConn(t, ConnOptions{})
			go hangUp(t, peer, stream)
			var got collector
			if err := receiveAll(c, &got); err != io.EOF {
				t.Errorf("got error %v, want %v", err, io.EOF)
			}
			if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
				t.Errorf("ULPDUs (-want +got):\n%s", d)
			}
		})
	}
}

// Each bit of the second of three FPDUs is changed: nothing wrong is delivered, and nothing behind
// it.
func TestReceiveChangedBits(t *testing.T) {
	ulpdus, stream := streamOf(true, 14, 23, 30)
	first, second := 20, 20+fpduSize(23)
	for i := 8 * first; i < 8*second; i++ {
		bad := slices.Clone(stream)
		bad[i/8] ^= 1 << (i % 8)
		c, peer := newConn(t, ConnOptions{CRC: true})
		hangUp(t, peer, bad)
		var got collector
		err := receiveAll(c, &got)
		switch length := i/8 < first+lengthSize; {
		case errors.Is(err, ErrCRC):
		case length && errors.Is(err, ErrLength):
		case length && errors.Is(err, io.ErrUnexpectedEOF): // the length became larger
		default:
			t.Errorf("bit %d: got error %v", i, err)
		}
		if d := diffULPDUs(ulpdus[:1], got.ulpdus); d != "" {
			t.Errorf("bit %d: ULPDUs (-want +got):\n%s", i, d)
		}
		c.Close(false)
	}
}

// Without CRC, the CRC field and the padding may be anything (RFC 5044 sections 4.1 and 4.4).
func TestReceiveIgnores(t *testing.T) {
	ulpdus, stream := streamOf(false, 15, 14)
	for i := lengthSize + 15; i < fpduSize(15); i++ {
		stream[i] = 0xee
	}
	c, peer := newConn(t, ConnOptions{})
	hangUp(t, peer, stream)
	var got collector
	if err := receiveAll(c, &got); err != io.EOF {
		t.Errorf("got error %v, want %v", err, io.EOF)
	}
	if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
		t.Errorf("ULPDUs (-want +got):\n%s", d)
	}
}

// A length that no DDP segment has is found as soon as its two bytes have come.
func TestReceiveBadLength(t *testing.T) {
	for n := range ddp.TaggedLen {
		c, peer := newConn(t, ConnOptions{CRC: true})
		ulpdus, stream := streamOf(true, 20)
		write(t, peer, append(stream, 0, byte(n)))
		var got collector
		if err := receiveAll(c, &got); !errors.Is(err, ErrLength) {
			t.Errorf("length %d: got error %v, want %v", n, err, ErrLength)
		}
		if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
			t.Errorf("length %d: ULPDUs (-want +got):\n%s", n, d)
		}
	}
}

// The stream ends at each byte.
func TestReceiveEnd(t *testing.T) {
	ulpdus, stream := streamOf(true, 14, 15, 40)
	ends := map[int]int{0: 0, 20: 1, 44: 2, len(stream): 3}
	whole := 0
	for k := range len(stream) + 1 {
		want := io.ErrUnexpectedEOF
		if n, ok := ends[k]; ok {
			whole, want = n, io.EOF
		}
		for _, parts := range [][][]byte{{stream[:k]}, {stream[:k/2], stream[k/2 : k]}} {
			c, peer := newConn(t, ConnOptions{CRC: true})
			var got collector
			for i, p := range parts {
				write(t, peer, p)
				if i < len(parts)-1 {
					receiveUntil(t, c, &got, len(p))
				}
			}
			peer.CloseWrite()
			if err := receiveAll(c, &got); err != want {
				t.Errorf("%d bytes: got error %v, want %v", k, err, want)
			}
			if d := diffULPDUs(ulpdus[:whole], got.ulpdus); d != "" {
				t.Errorf("%d bytes: ULPDUs (-want +got):\n%s", k, d)
			}
			c.Close(false)
		}
	}
}

// A reset is not a proper end.
func TestReceiveReset(t *testing.T) {
	for _, n := range []int{0, 20, 30} {
		_, stream := streamOf(true, 14, 14)
		c, peer := newConn(t, ConnOptions{CRC: true})
		var got collector
		write(t, peer, stream[:n])
		receiveUntil(t, c, &got, n)
		peer.SetLinger(0)
		peer.Close()
		err := receiveAll(c, &got)
		for _, not := range []error{io.EOF, io.ErrUnexpectedEOF, ErrStalled, ErrCRC, ErrLength} {
			if errors.Is(err, not) {
				t.Errorf("behind %d bytes: got error %v", n, err)
			}
		}
	}
}

// An error of the sink is returned unchanged, at once.
func TestReceiveSinkFails(t *testing.T) {
	_, stream := streamOf(true, 14, 14)
	c, peer := newConn(t, ConnOptions{CRC: true})
	write(t, peer, stream)
	got := collector{err: errors.New("full")}
	if err := receiveAll(c, &got); err != got.err {
		t.Errorf("got error %v, want %v", err, got.err)
	}
	if len(got.ulpdus) != 1 {
		t.Errorf("got %d ULPDUs, want 1", len(got.ulpdus))
	}
}
