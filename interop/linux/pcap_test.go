//go:build interop

package linux

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"
)

// The lengths of headers: of a capture, of a packet in it, of Ethernet, and of IPv4 and TCP without
// options.
const (
	pcapHeader   = 24
	packetHeader = 16
	etherHeader  = 14
	ipHeader     = 20
	tcpHeader    = 20

	rawIP = 101 // LINKTYPE_RAW
)

// packet is a TCP segment in a capture.
type packet struct {
	src, dst int // ports
	seq      uint32
	syn, ack bool
	payload  []byte
}

// readPcap returns the TCP segments in a capture made by QEMU.
func readPcap(t *testing.T, file string) (packets []packet) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < pcapHeader || binary.LittleEndian.Uint32(b) != 0xa1b2c3d4 {
		t.Fatalf("%s is no capture of this machine", file)
	}
	for b = b[pcapHeader:]; len(b) >= packetHeader; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		b = b[packetHeader:]
		if n > len(b) {
			break // the guest was killed while this was written
		}
		if p, ok := parsePacket(b[:n]); ok {
			packets = append(packets, p)
		}
		b = b[n:]
	}
	return packets
}

// selectPcap copies the TCP connections to the given ports out of a capture made by QEMU.
func selectPcap(t *testing.T, file, to string, ports []int) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < pcapHeader {
		t.Fatalf("%s is no capture", file)
	}
	out := append([]byte(nil), b[:pcapHeader]...)
	selected := make(map[packetPorts]bool)
	for b = b[pcapHeader:]; len(b) >= packetHeader; {
		n := packetHeader + int(binary.LittleEndian.Uint32(b[8:]))
		if n > len(b) {
			break // the guest was killed while this was written
		}
		if p, ok := parsePacket(b[packetHeader:n]); ok {
			there, back := packetPorts{p.src, p.dst}, packetPorts{p.dst, p.src}
			if p.syn && !p.ack { // a client may have one of these ports, too
				selected[there] = slices.Contains(ports, p.dst)
			}
			if selected[there] || selected[back] {
				out = append(out, b[:n]...)
			}
		}
		b = b[n:]
	}
	if err := os.WriteFile(to, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// parsePacket parses an Ethernet frame that holds TCP over IPv4.
func parsePacket(b []byte) (p packet, ok bool) {
	be := binary.BigEndian
	if len(b) < etherHeader+ipHeader+tcpHeader || be.Uint16(b[12:]) != 0x0800 || b[etherHeader+9] != 6 {
		return p, false
	}
	b = b[etherHeader:]
	if n := int(be.Uint16(b[2:])); n <= len(b) {
		b = b[:n] // short frames are padded
	}
	b = b[int(b[0]&0xf)*4:]
	p = packet{
		src: int(be.Uint16(b)), dst: int(be.Uint16(b[2:])), seq: be.Uint32(b[4:]),
		syn: b[13]&2 != 0, ack: b[13]&16 != 0, payload: b[int(b[12]>>4)*4:],
	}
	return p, true
}

// writePcap writes a capture with the given packets, one per millisecond. A packet may be longer
// than an IP packet, as before segmentation by a network card.
func writePcap(t *testing.T, file string, packets []packet) {
	t.Helper()
	be := binary.BigEndian
	b := be.AppendUint32(nil, 0xa1b2c3d4)
	b = be.AppendUint32(b, 2<<16|4)   // version
	b = append(b, make([]byte, 8)...) // time zone, accuracy
	b = be.AppendUint32(b, 1<<20)     // longest packet
	b = be.AppendUint32(b, rawIP)
	for i, p := range packets {
		n := ipHeader + tcpHeader + len(p.payload)
		b = be.AppendUint32(b, uint32(i/1000))
		b = be.AppendUint32(b, uint32(i%1000)*1000)
		b = be.AppendUint32(b, uint32(n))
		b = be.AppendUint32(b, uint32(n))

		if n > 1<<16-1 {
			n = 0
		}
		b = append(b, 0x45, 0) // IPv4, without options
		b = be.AppendUint16(b, uint16(n))
		// IPv4 and TCP, from and to the same address.
		b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 1)

		b = be.AppendUint16(b, uint16(p.src))
		b = be.AppendUint16(b, uint16(p.dst))
		b = be.AppendUint32(b, p.seq)
		b = be.AppendUint32(b, 1)
		b = append(b, tcpHeader/4<<4, 0x18, 0xff, 0xff, 0, 0, 0, 0) // ACK, PSH
		b = append(b, p.payload...)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
