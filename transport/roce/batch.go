package roce

import (
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/rc"
)

const (
	// maxMessages and arenaLen bound what one system call sends.
	maxMessages = 64
	arenaLen    = 192 << 10

	// turnLen is about how many bytes a connection sends before the next one has its turn.
	turnLen = 64 << 10

	// maxSegments and maxMessage bound a message: UDP_MAX_SEGMENTS of Linux, and a little less than
	// the maximum IP packet.
	maxSegments = 64
	maxMessage  = 65000

	maxPacket = bth.Len + bth.MaxExtra + maxMTU + bth.ICRCLen
)

// message is one datagram, or several of one size; the last may be shorter.
type message struct {
	to   netip.AddrPort
	p    []byte
	size int // of each datagram
}

// batch is what one system call sends. It serves connections in turn as their Outbox.
type batch struct {
	segments bool // messages may consist of several datagrams
	arena    []byte
	messages []message
	sent     int // messages

	// The connection whose turn it is.
	path    *bth.Path
	to      netip.AddrPort
	trace   func(packet []byte) // nil: nobody
	end     int                 // index in arena at which its turn ends
	packets int

	// The last message.
	count int  // datagrams
	full  bool // its last datagram is shorter, so nothing may follow
	// The last packet, which has no ICRC yet.
	open bool
	at   int // index in arena
}

var _ rc.Outbox = (*batch)(nil)

func newBatch(segments bool) *batch {
	return &batch{
		segments: segments, arena: make([]byte, 0, arenaLen),
		messages: make([]message, 0, maxMessages),
	}
}

func (b *batch) reset() {
	b.arena, b.messages, b.sent = b.arena[:0], b.messages[:0], 0
}

// unsent returns the messages still to be sent.
func (b *batch) unsent() []message { return b.messages[b.sent:] }

// room reports whether there is room for a connection's turn.
func (b *batch) room() bool {
	return len(b.messages) < maxMessages && len(b.arena)+maxPacket <= arenaLen
}

// begin begins the turn of a connection.
func (b *batch) begin(path *bth.Path, to netip.AddrPort, trace func([]byte)) {
	b.path, b.to, b.trace = path, to, trace
	b.end, b.packets, b.full = len(b.arena)+turnLen, 0, true
}

// Packet adds a packet. It joins the last message if the sizes allow that.
func (b *batch) Packet(h *bth.Packet, n int) (payload []byte, ok bool) {
	b.seal()
	length := h.Len(n)
	if len(b.arena) >= b.end || len(b.arena)+length > arenaLen {
		return nil, false
	}
	var m *message
	if !b.full && b.segments {
		m = &b.messages[len(b.messages)-1]
		if length > m.size || b.count == maxSegments || len(m.p)+length > maxMessage {
			m = nil
		}
	}
	if m == nil {
		if len(b.messages) == maxMessages {
			return nil, false
		}
		b.messages = append(b.messages, message{to: b.to, size: length})
		m = &b.messages[len(b.messages)-1]
		m.p = b.arena[len(b.arena):]
		b.count, b.full = 0, false
	}
	b.at, b.open = len(b.arena), true
	b.arena = h.AppendHeaders(b.arena, n)
	from := len(b.arena)
	b.arena = b.arena[:from+n]
	payload = b.arena[from:]
	for range bth.Pad(n) {
		b.arena = append(b.arena, 0)
	}
	m.p = m.p[:len(m.p)+length]
	b.full = length < m.size
	b.count++
	b.packets++
	return payload, true
}

// Undo removes the last packet.
func (b *batch) Undo() {
	m := &b.messages[len(b.messages)-1]
	m.p = m.p[:len(m.p)-(len(b.arena)-b.at)-bth.ICRCLen]
	b.arena, b.open = b.arena[:b.at], false
	b.count--
	b.packets--
	b.full = true // a new message next time; that does no harm
	if b.count == 0 {
		b.messages = b.messages[:len(b.messages)-1]
	}
}

// seal appends the ICRC to the last packet. With IPv4, the system numbers the datagrams of a
// message from 0 on in the identification of their headers, which the ICRC covers (see package
// bth).
func (b *batch) seal() {
	if !b.open {
		return
	}
	b.open = false
	b.arena = b.path.AppendSum(b.arena, b.at, uint16(b.count-1))
	if b.trace != nil {
		b.trace(b.arena[b.at:])
	}
}
