//go:build interop

package linux

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recut splits the iWARP connections to a port into new TCP segments, one for each startup frame
// and FPDU, in the order in which they were completed. Incomplete ones come last.
//
// Our FPDUs of up to 64 KiB span about forty segments of Ethernet's size, and tshark (4.0)
// sometimes loses track of these.
func recut(packets []packet, port int) (whole []packet, rest int) {
	streams := make(map[packetPorts]*stream)
	connections := 0
	for _, p := range packets {
		if p.src != port && p.dst != port {
			continue
		}
		key := packetPorts{p.src, p.dst}
		if p.syn {
			if p.ack != (p.src == port) {
				continue // the client has that port, and the server is another
			}
			old := streams[key]
			if old != nil && old.isn == p.seq {
				continue // sent again
			}
			if old != nil {
				rest += len(old.bytes)
			}
			var to packetPorts
			if p.dst == port {
				// The client's port is another for each connection, whatever it was.
				connections++
				to = packetPorts{firstPort + connections, port}
			} else if there := streams[packetPorts{p.dst, p.src}]; there != nil {
				to = packetPorts{port, there.ports.src}
			} else {
				continue
			}
			streams[key] = &stream{ports: to, isn: p.seq, next: p.seq + 1, sent: 1}
			continue
		}
		s := streams[key]
		if s == nil {
			continue
		}
		s.add(p)
		for frame := s.take(); frame != nil; frame = s.take() {
			whole = append(whole, packet{src: s.ports.src, dst: s.ports.dst, seq: s.sent, payload: frame})
			s.sent += uint32(len(frame))
		}
	}
	for _, s := range streams {
		rest += len(s.bytes)
	}
	return whole, rest
}

type packetPorts struct{ src, dst int }

// firstPort is the first client port in the new capture. From it on tshark knows no protocols, and
// servers that let Linux choose have no ports.
const firstPort = 61_000

// stream is one direction of a TCP connection.
type stream struct {
	ports packetPorts // in the new capture
	isn   uint32      // sequence number of SYN
	next  uint32      // sequence number
	early []packet
	bytes []byte // not taken yet
	sent  uint32 // sequence number in the new capture
	fpdus bool   // the startup frame was taken
}

// add adds the new bytes of a packet. It keeps packets that are early.
func (s *stream) add(p packet) {
	s.early = append(s.early, p)
	for i := 0; i < len(s.early); i++ {
		p := s.early[i]
		skip := int(int32(s.next - p.seq))
		if skip < 0 {
			continue
		}
		s.early = append(s.early[:i], s.early[i+1:]...)
		if skip < len(p.payload) {
			s.bytes = append(s.bytes, p.payload[skip:]...)
			s.next += uint32(len(p.payload) - skip)
		}
		i = -1 // another may follow now
	}
}

// take returns the next frame, or nil if it is incomplete.
func (s *stream) take() []byte {
	const (
		startupLen = 20 // RFC 5044 section 7.1.1
		crcLen     = 4
	)
	n := startupLen
	switch {
	case !s.fpdus && len(s.bytes) >= startupLen:
		n += int(binary.BigEndian.Uint16(s.bytes[startupLen-2:]))
	case s.fpdus && len(s.bytes) >= 2:
		n = (2+int(binary.BigEndian.Uint16(s.bytes))+3)&^3 + crcLen
	}
	if len(s.bytes) < n {
		return nil
	}
	frame := s.bytes[:n:n]
	s.bytes, s.fpdus = s.bytes[n:], true
	return frame
}

// TestGateRecut: of the connections with a port, those to a server there are cut again. The client
// has that port, too, towards another server.
func TestGateRecut(t *testing.T) {
	const server, other, client = 20049, 20050, 40000
	open := func(from, to int) []packet {
		return []packet{{src: from, dst: to, syn: true}, {src: to, dst: from, syn: true, ack: true}}
	}
	startup := make([]byte, 20)
	whole, rest := recut(slices.Concat(
		open(server, other),
		[]packet{{src: server, dst: other, seq: 1, payload: startup}},
		open(client, server),
		[]packet{
			{src: client, dst: server, seq: 1, payload: startup},
			{src: other, dst: server, seq: 1, payload: startup},
			{src: server, dst: client, seq: 1, payload: startup},
		}), server)
	want := []packet{
		{src: firstPort + 1, dst: server, seq: 1, payload: startup},
		{src: server, dst: firstPort + 1, seq: 1, payload: startup},
	}
	if diff := cmp.Diff(want, whole, cmp.AllowUnexported(packet{})); diff != "" || rest != 0 {
		t.Errorf("%d bytes are left (-want +got):\n%s", rest, diff)
	}
}
