//go:build interop

package tshark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// framing is what must be below the messages of a direction.
type framing struct {
	CRC        bool
	Markers    bool
	Version    int // of DDP and RDMAP
	MaxSegment int // 0 if it does not matter
}

// check checks the layers below messages.
func (f *flow) check(t *testing.T, from string, want framing) {
	t.Helper()
	if f.accounted != f.stream {
		t.Errorf("from the %s: the frames have %d bytes, of %d in the stream", from, f.accounted, f.stream)
	}
	checked, unchecked := 0, f.fpdus
	if want.CRC {
		checked, unchecked = f.fpdus, 0
	}
	if f.checked != checked || f.unchecked != unchecked {
		t.Errorf("from the %s: of %d FPDUs %d have a good CRC and %d none; want %d and %d", from, f.fpdus, f.checked, f.unchecked, checked, unchecked)
	}
	markers := 0
	if want.Markers {
		markers = (f.stream - f.startup + markerEvery - 1) / markerEvery
	}
	if f.markers != markers {
		t.Errorf("from the %s: %d markers in a stream of %d bytes, want %d", from, f.markers, f.stream-f.startup, markers)
	}
	if diff := cmp.Diff(map[int]int{want.Version: f.fpdus}, f.versions); diff != "" {
		t.Errorf("from the %s: FPDUs by the version of DDP and RDMAP (-want +got):\n%s", from, diff)
	}
	if want.MaxSegment == 0 {
		return
	}
	// Full segments, but no longer ones.
	if f.longest > want.MaxSegment || f.longest < want.MaxSegment-8 {
		t.Errorf("from the %s: the longest ULPDU has %d bytes, want about %d", from, f.longest, want.MaxSegment)
	}
}
