package rpcrdma

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Private data as RFC 8797 section 4 lays it out; the first two are what Linux 6.1's client
// and server say.
func TestPrivateGolden(t *testing.T) {
	tests := []struct {
		name string
		hex  string
		want private
	}{
		{"Linux client", "f6ab0e18 01 01 03 03", private{Invalidate: true, Send: 4096, Recv: 4096}},
		{"Linux server", "f6ab0e18 01 00 03 03", private{Send: 4096, Recv: 4096}},
		{"smallest", "f6ab0e18 01 00 00 00", private{Send: 1024, Recv: 1024}},
		{"largest of ours", "f6ab0e18 01 01 3f 3f", private{Invalidate: true, Send: 65536, Recv: 65536}},
		{"largest there is", "f6ab0e18 01 01 ff ff", private{Invalidate: true, Send: 262144, Recv: 262144}},
		{"send and receive differ", "f6ab0e18 01 00 03 0f", private{Send: 4096, Recv: 16384}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			if diff := cmp.Diff(b, tt.want.append(nil)); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}
			if got := parsePrivate(b); got != tt.want {
				t.Errorf("parsed %+v, want %+v", got, tt.want)
			}
			if got := parsePrivate(append(b, "and more"...)); got != tt.want {
				t.Errorf("with bytes behind it: parsed %+v, want %+v", got, tt.want)
			}
		})
	}
}

// What says nothing leaves the defaults of RFC 8166.
func TestPrivateUnknown(t *testing.T) {
	want := private{Send: 1024, Recv: 1024}
	for name, b := range map[string][]byte{
		"none":            nil,
		"another magic":   unhex(t, "f6ab0e19 01 01 03 03"),
		"little-endian":   unhex(t, "180eabf6 01 01 03 03"),
		"version 0":       unhex(t, "f6ab0e18 00 01 03 03"),
		"version 2":       unhex(t, "f6ab0e18 02 01 03 03"),
		"something first": unhex(t, "00000000 f6ab0e18 01 01 03 03"),
	} {
		if got := parsePrivate(b); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	full := unhex(t, "f6ab0e18 01 01 03 03")
	for i := range full {
		if got := parsePrivate(full[:i]); got != want {
			t.Errorf("first %d bytes: %+v, want %+v", i, got, want)
		}
	}
}

// Bits that RFC 8797 reserves are ignored.
func TestPrivateReservedFlags(t *testing.T) {
	if got, want := parsePrivate(unhex(t, "f6ab0e18 01 fe 03 03")), (private{Send: 4096, Recv: 4096}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := parsePrivate(unhex(t, "f6ab0e18 01 ff 03 03")); !got.Invalidate {
		t.Errorf("%+v, want remote invalidation", got)
	}
}

// The smaller of what one end sends and the other receives is what holds.
func TestLimits(t *testing.T) {
	tests := []struct {
		name                   string
		cfg                    Config
		peer                   private
		inlineSend, inlineRecv int
	}{
		{"defaults on both ends", Config{}, private{Send: 4096, Recv: 4096}, 4096, 4096},
		{"a peer that says nothing", Config{}, parsePrivate(nil), 1024, 1024},
		{"a larger peer", Config{}, private{Send: 65536, Recv: 65536}, 4096, 4096},
		{"a smaller peer", Config{InlineSend: 65536, InlineRecv: 65536}, private{Send: 2048, Recv: 8192}, 8192, 2048},
		{"sizes out of range", Config{InlineSend: 1, InlineRecv: 1 << 20}, private{Send: 262144, Recv: 262144}, 1024, 65536},
		{"sizes are multiples of 1024", Config{InlineSend: 5000, InlineRecv: 2047}, private{Send: 262144, Recv: 262144}, 4096, 1024},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg.withDefaults()
			got := (&Conn{cfg: cfg, peer: tt.peer}).initial()
			if got.MaxSend != tt.inlineSend || got.MaxRecv != tt.inlineRecv {
				t.Errorf("send %d, receive %d, want %d, %d", got.MaxSend, got.MaxRecv, tt.inlineSend, tt.inlineRecv)
			}
			// What is said is what is meant.
			if got := parsePrivate(cfg.private()); got.Send != cfg.InlineSend || got.Recv != cfg.InlineRecv || !got.Invalidate {
				t.Errorf("tells the peer %+v, configured %d, %d", got, cfg.InlineSend, cfg.InlineRecv)
			}
		})
	}
}

func TestConfigRanges(t *testing.T) {
	small := Config{Credits: -1, MinChunk: -1, SegmentSize: 1, MaxMessage: 1, ConnMemory: 1, ServerMemory: 1}.withDefaults()
	if small.Credits != 1 || small.MinChunk != 1 || small.SegmentSize != 1024 || small.MaxMessage != MaxInline {
		t.Errorf("smallest: %+v", small)
	}
	large := Config{SegmentSize: math.MaxInt, MaxMessage: math.MaxInt}.withDefaults()
	if large.SegmentSize != 1<<30 || large.MaxMessage != 1<<30 {
		t.Errorf("largest: %+v", large)
	}
	for _, c := range []Config{small, large, Config{}.withDefaults()} {
		// The largest call and its largest reply, or it would wait for ever.
		if most := 2 * int64(c.MaxMessage); c.ConnMemory < most || c.ServerMemory < c.ConnMemory {
			t.Errorf("memory for a connection %d, for all %d, one call may need %d", c.ConnMemory, c.ServerMemory, most)
		}
	}
}
