//go:build !race

package sctp

import (
	"encoding/binary"
	"testing"
)

// TestAllocations: to take a message of a packet and to acknowledge it allocates nothing. The race
// detector drops what is in pools.
func TestAllocations(t *testing.T) {
	l, _ := newInboundLink(t, Config{})
	l.socket.conn = nowhere{}
	defer l.over(t)
	tsn := uint32(0)
	packet := dataChunk(1, flagBegin|flagEnd, make([]byte, 900))
	b, p := make([]byte, 900), make([]byte, pionPacket)
	n := testing.AllocsPerRun(1000, func() {
		tsn++
		binary.BigEndian.PutUint32(packet[4:], tsn)
		l.take(packet, linkPeer)
		q, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		l.read(p, q)
		packets.Put((*[pionPacket]byte)(q.packet[:pionPacket]))
		m, _ := l.in.receive(b)
		l.in.giveBack(m.Reserved)
	})
	if n > 0 {
		t.Errorf("%v allocations for a message", n)
	}
}
