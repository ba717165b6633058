//go:build interop

package sctp

import (
	"encoding/binary"
	"os"
	"testing"
)

const (
	pcapMagic = 0xa1b2c3d4
	rawIP     = 101 // LINKTYPE_RAW
	ipLen     = 20
	udpLen    = 8

	clientPort = 49152
	sctpPort   = 9899 // SCTP over UDP (RFC 6951): tshark knows it
)

// writePcap writes a capture of datagrams between clientPort and sctpPort.
func writePcap(t *testing.T, file string, all []datagram) {
	t.Helper()
	be := binary.BigEndian
	b := be.AppendUint32(nil, pcapMagic)
	b = be.AppendUint16(b, 2) // version 2.4
	b = be.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...) // time zone, accuracy
	b = be.AppendUint32(b, 1<<16)     // longest packet
	b = be.AppendUint32(b, rawIP)
	for i, d := range all {
		n := uint32(ipLen + udpLen + len(d.Payload))
		b = be.AppendUint32(b, uint32(i/1000)) // a millisecond for each
		b = be.AppendUint32(b, uint32(i%1000)*1000)
		b = be.AppendUint32(b, n)
		b = be.AppendUint32(b, n)
		b = append(b, 0x45, 0) // IPv4, without options
		b = be.AppendUint16(b, uint16(n))
		b = append(b, 0, 0, 0x40, 0, 64, 17, 0, 0) // not fragmented, UDP, no checksum
		b = append(b, 127, 0, 0, 1, 127, 0, 0, 1)
		ports := [2]uint16{clientPort, sctpPort}
		if !d.FromClient {
			ports = [2]uint16{sctpPort, clientPort}
		}
		b = be.AppendUint16(b, ports[0])
		b = be.AppendUint16(b, ports[1])
		b = be.AppendUint16(b, uint16(udpLen+len(d.Payload)))
		b = be.AppendUint16(b, 0) // no checksum
		b = append(b, d.Payload...)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
