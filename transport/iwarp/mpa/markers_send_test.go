package mpa

import (
	"fmt"
	"net"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// markedSizes are sizes of ULPDUs, up to the largest in a stream with markers.
func markedSizes() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(14, 90), rapid.IntRange(480, 530), rapid.IntRange(14, 3000), rapid.IntRange(64700, maxMarkedULPDU))
}

// Batches of segments on a socket that takes little at a time. The stream is byte for byte that of
// the second implementation, which also finds the segments in it.
func TestSendMarkers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		crc := rapid.Bool().Draw(r, "CRC")
		sizes := rapid.SliceOfN(markedSizes(), 1, 8).Draw(r, "sizes")
		together := rapid.IntRange(1, 4).Draw(r, "FPDUs in a batch")
		piece := rapid.IntRange(1, 5000).Draw(r, "piece")
		ulpdus, want := markedOf(0, crc, sizes...)
		o, peer := newOutbox(r, ConnOptions{CRC: crc, MarkersOut: true})
		defer peer.Close()
		defer o.Close(false)
		all := drain(peer)
		for i, u := range ulpdus {
			header := 14 + 4*(i%2)*min(1, (len(u)-14)/4)
			if err := o.add(u[:header], pieces(u[header:], piece), transport.STag(i%3)); err != nil {
				r.Fatal(err)
			}
			if (i+1)%together == 0 {
				if err := o.send(); err != nil {
					r.Fatal(err)
				}
			}
		}
		if err := o.send(); err != nil {
			r.Fatal(err)
		}
		if err := o.conn.(*net.TCPConn).CloseWrite(); err != nil {
			r.Fatal(err)
		}
		b := Await(r, "the end of the stream", all)
		diff(t, b, want.out)
		plain := unmarkAll(0, b, crc)
		if d := diffULPDUs(ulpdus, plain.ulpdus); d != "" || plain.err != nil {
			r.Errorf("error %v, ULPDUs (-want +got):\n%s", plain.err, d)
		}
	})
}

// Two ends with markers in one direction, or in both.
func TestMarkersEachWay(t *testing.T) {
	for _, in := range []bool{false, true} {
		for _, out := range []bool{false, true} {
			t.Run(fmt.Sprintf("in %t, out %t", in, out), func(t *testing.T) {
				a, peer := newConn(t, ConnOptions{CRC: true, MarkersIn: in, MarkersOut: out})
				b := connOver(t, peer, ConnOptions{CRC: true, MarkersIn: out, MarkersOut: in})
				for _, dir := range []struct {
					from, to *Conn
					markers  bool
				}{{a, b, out}, {b, a, in}} {
					var want [][]byte
					var got collector
					o := &outbox{Conn: dir.from}
					for i := range 40 {
						u := text(100+i*37, i)
						want = append(want, u)
						if err := o.add(u[:18], listOf(u[18:]), 1); err != nil {
							t.Fatal(err)
						}
						if err := o.send(); err != nil {
							t.Fatal(err)
						}
						for len(got.ulpdus) <= i {
							if err := dir.to.Receive(&got); err != nil {
								t.Fatal(err)
							}
						}
					}
					if d := diffULPDUs(want, got.ulpdus); d != "" {
						t.Errorf("ULPDUs (-want +got):\n%s", d)
					}
					size := got.bytes
					if dir.markers {
						size = markedSize(0, size)
					}
					if dir.from.out.total != size {
						t.Errorf("markers %t: got %d bytes sent, want %d", dir.markers, dir.from.out.total, size)
					}
				}
			})
		}
	}
}

// A segment that does not fit in a batch with markers leaves no trace.
func TestBatchFullMarkers(t *testing.T) {
	for _, tt := range []struct{ size, min, max int }{{14, 13200, 13460}, {1000, 260, 266}, {64768, 4, 4}} {
		for base := 0; base < 512; base += 92 {
			ulpdu := text(tt.size, 0)
			b := markedBatch(t, base, false)
			want := &markedStream{base: base}
			n := 0
			for ; ; n++ {
				p := ddp.Payload{List: listOf(ulpdu[14:])}
				if b.addMarked(ulpdu[:14], &p, len(ulpdu)-14, false) {
					want.fpdu(ulpdu, false)
					continue
				}
				if len(p.List) != 1 || p.Skip != 0 {
					t.Error("the payload that did not fit was used")
				}
				break
			}
			if n < tt.min || n > tt.max {
				t.Errorf("ULPDUs of %d: got %d FPDUs, want %d to %d", tt.size, n, tt.min, tt.max)
			}
			diff(t, b.rest(), want.out)
			if cap(b.arena) != arenaSize {
				t.Errorf("got an arena of %d bytes, want %d", cap(b.arena), arenaSize)
			}
			b.release()
		}
	}
}

// A batch uses its room to the last byte, and not more.
func TestBatchBrimMarkers(t *testing.T) {
	largest := text(maxMarkedULPDU, 0)
	for base := 0; base < 512; base += 20 {
		b := markedBatch(t, base, false, largest, largest, largest, largest)
		// The longest segment that fits, by the second implementation.
		n := (arenaSize-b.size-200)&^3 + 2
		for size := 0; size <= arenaSize-b.size; n += 4 {
			_, s := markedOf(b.position(), false, n+4)
			size = len(s.out)
		}
		n -= 4
		more := text(n+4, 1)
		if p := (ddp.Payload{List: listOf(more[14:])}); b.addMarked(more[:14], &p, len(more)-14, false) {
			t.Fatalf("at %d: a ULPDU of %d was added to %d bytes", base, len(more), b.size)
		}
		addMarked(t, b, more[:n], false)
		if len(b.arena) > arenaSize || cap(b.arena) != arenaSize {
			t.Fatalf("at %d: got an arena of %d bytes, want %d", base, cap(b.arena), arenaSize)
		}
		b.release()
	}
}
