//go:build interop

package tshark

import (
	"encoding/binary"
	"os"
	"testing"
)

const (
	pcapMagic = 0xa1b2c3d4
	rawIP     = 101 // LINKTYPE_RAW
	ipLen     = 20
	tcpLen    = 20
)

// writePcap writes a capture in which each frame is a TCP segment.
func writePcap(t *testing.T, file string, ports [2]int, frames []frame) {
	t.Helper()
	be := binary.BigEndian
	b := be.AppendUint32(nil, pcapMagic)
	b = be.AppendUint16(b, 2) // version 2.4
	b = be.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...) // time zone, accuracy
	b = be.AppendUint32(b, 1<<20)     // longest packet
	b = be.AppendUint32(b, rawIP)
	next := [2]uint32{1, 1} // sequence numbers
	for i, f := range frames {
		n := uint32(ipLen + tcpLen + len(f.bytes))
		b = be.AppendUint32(b, uint32(i/1000)) // a millisecond for each
		b = be.AppendUint32(b, uint32(i%1000)*1000)
		b = be.AppendUint32(b, n)
		b = be.AppendUint32(b, n)

		if n > 1<<16-1 {
			n = 0 // as before segmentation by an adapter
		}
		b = append(b, 0x45, 0) // IPv4, without options
		b = be.AppendUint16(b, uint16(n))
		b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0) // not fragmented, TCP, no checksum
		b = append(b, 127, 0, 0, 1, 127, 0, 0, 1)

		b = be.AppendUint16(b, uint16(ports[f.from]))
		b = be.AppendUint16(b, uint16(ports[1-f.from]))
		b = be.AppendUint32(b, next[f.from])
		b = be.AppendUint32(b, next[1-f.from])
		b = append(b, tcpLen/4<<4, 0x18, 0xff, 0xff, 0, 0, 0, 0) // PSH, ACK, window
		b = append(b, f.bytes...)
		next[f.from] += uint32(len(f.bytes))
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
