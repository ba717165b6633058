package mpa

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"
)

// TestTrickleMemory has long FPDUs come byte by byte. The connection waits for each byte, and may
// not keep a buffer because too many others do. It allocates in proportion to the bytes received,
// and never holds much more than these.
func TestTrickleMemory(t *testing.T) {
	kept.Add(maxKept)
	defer kept.Add(-maxKept)
	networks := []struct {
		name string
		make func(t *testing.T) (c, peer net.Conn)
	}{
		{"TCP", func(t *testing.T) (c, peer net.Conn) { return tcpPair(t) }},
		{"pipe", func(t *testing.T) (c, peer net.Conn) { return net.Pipe() }},
	}
	for _, network := range networks {
		for _, o := range []ConnOptions{{}, {CRC: true, MarkersIn: true}} {
			name := fmt.Sprintf("%s, CRC %t, markers %t", network.name, o.CRC, o.MarkersIn)
			t.Run(name, func(t *testing.T) {
				o.Stall = time.Hour
				conn, peer := network.make(t)
				defer peer.Close()
				c, err := NewConn(conn, o)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close(false)
				trickleMemory(t, c, peer, o)
			})
		}
	}
}

func trickleMemory(t *testing.T, c *Conn, peer net.Conn, o ConnOptions) {
	sizes := []int{30_000, 14, 2000, 10_000}
	want, stream := streamOf(o.CRC, sizes...)
	if o.MarkersIn {
		var marked *markedStream
		want, marked = markedOf(0, o.CRC, sizes...)
		stream = marked.out
	}
	go func() {
		for i := range stream {
			if _, err := peer.Write(stream[i : i+1]); err != nil {
				return // the test reports the reason
			}
		}
	}()
	var got collector
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for received := 0; received < len(stream); {
		if err := c.Receive(&got); err != nil {
			t.Fatalf("behind %d bytes of %d: %v", received, len(stream), err)
		}
		_, n := c.Traffic()
		received = int(n)
		c.in.idle() // whenever the next byte has not arrived
		if most := max(4*c.in.pending(), 1024); len(c.in.buf) > most {
			t.Fatalf("%d bytes of memory hold %d of an FPDU, want no more than %d",
				len(c.in.buf), c.in.pending(), most)
		}
	}
	runtime.ReadMemStats(&after)
	if d := diffULPDUs(want, got.ulpdus); d != "" {
		t.Errorf("ULPDUs (-want +got):\n%s", d)
	}
	// The memory doubles each time, and a buffer is reused whenever it is full. Moving it for each
	// byte would take 500 MB.
	const most = 8 << 20
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes were allocated for %d that came, want no more than %d", n, len(stream), most)
	} else {
		t.Logf("%d bytes were allocated for %d that came", n, len(stream))
	}
}
