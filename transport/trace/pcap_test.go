package trace_test

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

// packet is one of a file, read by a decoder that shares no code with the package.
type packet struct {
	src, dst netip.AddrPort
	udp      bool
	seq, ack uint32
	flags    byte
	payload  []byte
}

// Flags of TCP.
const (
	fin, syn, rst, psh, ack = 0x01, 0x02, 0x04, 0x08, 0x10
)

// decode reads a file, and checks what each packet says about itself: lengths, checksums, and that
// time does not go back.
func decode(t *testing.T, file []byte) (packets []packet) {
	t.Helper()
	be := binary.BigEndian
	if len(file) < 24 {
		t.Fatalf("a file of %d bytes", len(file))
	}
	magic, version := be.Uint32(file), be.Uint32(file[4:])
	snap, link := be.Uint32(file[16:]), be.Uint32(file[20:])
	if magic != 0xa1b23c4d || version != 2<<16|4 || link != 101 {
		t.Fatalf("magic %#x, version %#x, link type %d", magic, version, link)
	}
	var last time.Time
	for b := file[24:]; len(b) > 0; {
		if len(b) < 16 {
			t.Fatalf("packet %d: the file ends in its header", len(packets))
		}
		at := time.Unix(int64(be.Uint32(b)), int64(be.Uint32(b[4:])))
		n := int(be.Uint32(b[8:]))
		if n != int(be.Uint32(b[12:])) || n > int(snap) || n > len(b)-16 || at.Before(last) {
			t.Fatalf("packet %d: header % x", len(packets), b[:16])
		}
		packets = append(packets, decodeIP(t, b[16:16+n]))
		b, last = b[16+n:], at
	}
	if time.Since(last) > time.Hour && len(packets) > 0 {
		t.Errorf("the last packet is of %v", last)
	}
	return packets
}

func decodeIP(t *testing.T, b []byte) (p packet) {
	t.Helper()
	be := binary.BigEndian
	var src, dst netip.Addr
	var protocol byte
	switch b[0] >> 4 {
	case 4:
		if b[0] != 0x45 || int(be.Uint16(b[2:])) != len(b) || onesComplement(b[:20]) != 0 {
			t.Fatalf("IPv4 header % x of %d bytes", b[:20], len(b))
		}
		protocol = b[9]
		src, dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
		b = b[20:]
	case 6:
		if int(be.Uint16(b[4:])) != len(b)-40 {
			t.Fatalf("IPv6 header % x of %d bytes", b[:40], len(b))
		}
		protocol = b[6]
		src, dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
		b = b[40:]
	default:
		t.Fatalf("IP version % x", b[0])
	}
	pseudo := append(src.AsSlice(), dst.AsSlice()...)
	pseudo = be.AppendUint32(pseudo, uint32(len(b)))
	pseudo = append(pseudo, 0, 0, 0, protocol)
	if c := onesComplement(append(pseudo, b...)); c != 0 {
		t.Fatalf("checksum is off by %#x: % x", c, b[:8])
	}
	p.src = netip.AddrPortFrom(src, be.Uint16(b))
	p.dst = netip.AddrPortFrom(dst, be.Uint16(b[2:]))
	switch protocol {
	case 17:
		p.udp = true
		if int(be.Uint16(b[4:])) != len(b) || be.Uint16(b[6:]) == 0 {
			t.Fatalf("UDP header % x of %d bytes", b[:8], len(b))
		}
		p.payload = b[8:]
	case 6:
		p.seq, p.ack, p.flags = be.Uint32(b[4:]), be.Uint32(b[8:]), b[13]
		p.payload = b[b[12]>>4*4:]
	default:
		t.Fatalf("protocol %d", protocol)
	}
	return p
}

// onesComplement is the checksum of RFC 1071, the slow way.
func onesComplement(b []byte) uint16 {
	var sum uint32
	for i, c := range b {
		if i%2 == 0 {
			sum += uint32(c) << 8
		} else {
			sum += uint32(c)
		}
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// flow is what one end of a connection of TCP has sent.
type flow struct {
	bytes []byte
	end   byte // fin or rst
	next  uint32
}

// tcp is a connection: the end that has dialled, and the other.
type tcp struct {
	ends  [2]netip.AddrPort
	flows [2]flow
	first int // the end that sends first
	short int // how often fewer bytes were sent than written
}

// connections follows the connections of TCP, in the order in which they begin, and checks that
// nothing is missing. Sequence numbers and acknowledgements go back where bytes were not sent after
// all, which is counted.
func connections(t *testing.T, packets []packet) (all []*tcp) {
	t.Helper()
	type key [2]netip.AddrPort
	found := make(map[key]*tcp)
	for i, p := range packets {
		if p.udp {
			continue
		}
		if p.flags == syn {
			c := &tcp{ends: [2]netip.AddrPort{p.src, p.dst}, first: -1}
			found[c.ends] = c
			all = append(all, c)
		}
		from := 0
		c := found[key{p.src, p.dst}]
		if c == nil {
			from = 1
			c = found[key{p.dst, p.src}]
		}
		if c == nil {
			t.Fatalf("packet %d of no connection: %+v", i, p)
		}
		f, other := &c.flows[from], &c.flows[1-from]
		switch {
		case p.flags&syn != 0:
			f.next = p.seq + 1
			continue
		case f.end != 0:
			t.Errorf("packet %d follows the end", i)
		case p.seq > f.next:
			t.Fatalf("packet %d: sequence number %d, want %d", i, p.seq, f.next)
		case p.ack > other.next:
			t.Fatalf("packet %d: acknowledgement %d, want %d", i, p.ack, other.next)
		}
		for _, back := range []struct {
			f  *flow
			to uint32
		}{{f, p.seq}, {other, p.ack}} {
			if n := back.f.next - back.to; n > 0 {
				back.f.bytes = back.f.bytes[:len(back.f.bytes)-int(n)]
				back.f.next = back.to
				c.short++
			}
		}
		if len(p.payload) > 0 && c.first < 0 {
			c.first = from
		}
		f.bytes = append(f.bytes, p.payload...)
		f.next = p.seq + uint32(len(p.payload))
		f.end = p.flags & (fin | rst)
		if f.end == fin {
			f.next++
		}
	}
	return all
}
