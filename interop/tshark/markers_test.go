//go:build interop

package tshark

import (
	"fmt"
	"strconv"
)

// addMarkers checks the markers of an FPDU at position pos of the stream of FPDUs, alone in its TCP
// segment. Wrong markers are problems.
func (f *flow) addMarkers(p *proto, pos int) {
	length := 0 // where it stands
	p.walk(func(field *field) {
		if field.Name == "iwarp_mpa.ulpdulength" {
			length = pos + field.Pos - p.Pos
		}
	})
	n := 0
	p.walk(func(field *field) {
		switch field.Name {
		case "iwarp_mpa.marker_res":
			n++
			if field.Show != "0x0000" {
				f.Problems = append(f.Problems, "marker: "+field.ShowName)
			}
		case "iwarp_mpa.marker_fpduptr":
			at := pos + field.Pos - 2 - p.Pos // the reserved bytes are before it
			if want := max(at-length, 0); at%markerEvery != 0 || field.Show != strconv.Itoa(want) {
				f.Problems = append(f.Problems, fmt.Sprintf("marker at %d: %s, want %d", at, field.ShowName, want))
			}
		}
	})
	f.markers += n
	f.most = max(f.most, n)
	f.accounted += n * markerLen
}
