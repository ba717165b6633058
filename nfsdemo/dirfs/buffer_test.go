//go:build linux

package dirfs

import (
	"testing"
)

// TestBuffers: buffers are reused and do not pile up.
func TestBuffers(t *testing.T) {
	var p buffers
	for _, tt := range []struct{ n, want int }{
		{0, 4096}, {1, 4096}, {4096, 4096}, {4097, 8192}, {65536, 65536}, {65537, 131072}, {maxBuffer, maxBuffer},
	} {
		b := p.get(tt.n)
		if len(b) != tt.want {
			t.Errorf("for %d bytes: %d, want %d", tt.n, len(b), tt.want)
		}
		b[0] = 1
		p.put(b)
		if again := p.get(tt.n); again[0] != 1 {
			t.Errorf("for %d bytes: another buffer", tt.n)
		} else {
			p.put(again)
		}
	}
	for n := minBuffer; n <= maxBuffer; n *= 2 {
		out := make([][]byte, 2*keepBuffers/n)
		for i := range out {
			out[i] = p.get(n)
		}
		for _, b := range out {
			p.put(b)
		}
		kept := 0
		for _, free := range p.free {
			for _, b := range free {
				kept += len(b)
			}
		}
		if kept != p.kept || kept > keepBuffers || len(p.free[sizeClass(n)]) == 0 {
			t.Errorf("buffers of %d: %d bytes are kept, counted %d", n, kept, p.kept)
		}
	}
}
