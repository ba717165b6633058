package sctp

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// pion/sctp uses this port for both ends.
const pionPort = 5000

// pionPacket is the maximum size of a packet that pion/sctp reads, in bytes.
const pionPacket = 8192

// pion/sctp does not report the stream, the order or the TSNs of a message. So the link adds a note
// to each one: in front its stream, whether it was ordered, and its first TSN; behind it its last
// TSN. It puts all messages on one stream, so that one goroutine takes them in order of arrival.
const (
	noteFront = 8
	noteBack  = 4
)

// link carries an association's packets between a socket and pion/sctp. It is pion/sctp's net.Conn.
// It edits the packets: ports, checksum, and notes.
type link struct {
	socket  *socket
	ports   header // in packets from this side; tag is the peer's
	tag     uint32 // of this side
	ties    tieTags
	streams uint16 // the peer may send on ids below this
	key     peerKey
	most    int           // maximum packet that pion/sctp makes, in bytes
	mtu     atomic.Int32  // of the path now, at most most
	heard   atomic.Int64  // when the peer last sent a packet, in Unix ns
	leaving atomic.Bool   // pion/sctp is in the state SHUTDOWN-ACK-SENT
	gone    chan struct{} // closed when the path has ended

	mu     sync.Mutex // guards what follows
	to     path
	queue  ring.Ring[[]byte] // packets for Read
	ready  sync.Cond
	ending bool
	closed bool   // and the last packet was sent
	reason error  // why the path ended
	vacate func() // gives back this association's place among those of the Listener
}

// maxQueue is how many packets of an association may wait for pion/sctp, and maxQueued how many of
// a socket; fairQueue of each association are always allowed. Others are dropped, as by a network.
const (
	maxQueue  = 512
	maxQueued = 4096
	fairQueue = 16
)

// packets holds buffers of pionPacket bytes for pion/sctp.
var packets = sync.Pool{New: func() any { return new([pionPacket]byte) }}

var _ net.Conn = (*link)(nil)

func newLink(s *socket, ports header, tag uint32, streams uint16, to path) *link {
	l := &link{
		socket: s, ports: ports, tag: tag, ties: newTieTags(), streams: streams, to: to,
		queue: ring.New[[]byte](maxQueue), gone: make(chan struct{}),
	}
	l.ready.L = &l.mu
	l.key = peerKey{to.peer, ports.dst, ports.src}
	l.heard.Store(time.Now().UnixNano())
	l.most = cmp.Or(s.cfg.MTU, packetMTU(to.peer), defaultMTU)
	l.mtu.Store(int32(l.most))
	return l
}

// look updates the MTU of the path.
func (l *link) look() {
	if l.socket.cfg.MTU != 0 {
		return
	}
	if n := packetMTU(l.path().peer); n != 0 {
		l.mtu.Store(int32(min(n, l.most)))
	}
}

// path returns where packets go.
func (l *link) path() path {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to
}

// maxMessage returns the maximum length in bytes of a message that fits in one packet.
func (l *link) maxMessage() int {
	return (int(l.mtu.Load()) - headerLen - dataHeaderLen) &^ 3
}

// Read reads a packet from the peer.
func (l *link) Read(p []byte) (int, error) {
	l.mu.Lock()
	for l.queue.Len() == 0 && !l.closed {
		l.ready.Wait()
	}
	if l.queue.Len() == 0 {
		defer l.mu.Unlock()
		return 0, l.reason
	}
	q, _ := l.queue.Pop()
	if !l.closed {
		l.socket.queued.Add(-1)
	}
	l.mu.Unlock()
	n := copy(p, q)
	packets.Put((*[pionPacket]byte)(q[:pionPacket]))
	return n, nil
}

// Write sends a packet, split into several if the path now takes less. IP fragments a chunk that is
// too long by itself.
func (l *link) Write(p []byte) (int, error) {
	to := l.path()
	l.ports.put(p)
	hasten(p[headerLen:])
	if first, _ := nextChunk(p[headerLen:]); first.is(chunkShutdownAck) {
		l.leaving.Store(true)
	}
	for begin := 0; ; {
		mtu, next := int(l.mtu.Load()), len(p)
		if next-begin > mtu {
			next = splitAt(p[begin:], mtu) + begin
		}
		l.socket.send(seal(p[begin:next]), to)
		if next == len(p) {
			return len(p), nil
		}
		// The header of the next packet overwrites the end of the last.
		begin = next - headerLen
		l.ports.put(p[begin:])
	}
}

// hasten asks for immediate acknowledgement of session control messages. This side sends nothing
// behind one until it is acknowledged, and the end of a session takes two.
func hasten(chunks []byte) {
	for len(chunks) > 0 {
		c, rest := nextChunk(chunks)
		if c == nil {
			return
		}
		if c.is(chunkData) && len(c) > dataHeaderLen {
			ppid := binary.BigEndian.Uint32(c[12:])
			if ppid == ppidControl || ppid == ppidDraftSegment && len(c) == dataHeaderLen+resetLen {
				c[1] |= flagImmediate
			}
		}
		chunks = rest
	}
}

// splitAt returns where to end a packet so that it has at most mtu bytes, unless a single chunk has
// more.
func splitAt(p []byte, mtu int) int {
	end := headerLen
	for rest := p[headerLen:]; len(rest) > 0; {
		c, next := nextChunk(rest)
		if c == nil {
			return len(p)
		}
		n := len(rest) - len(next)
		if end > headerLen && end+n > mtu {
			break
		}
		end += n
		rest = next
	}
	return end
}

// Close ends the path.
func (l *link) Close() error {
	l.end(net.ErrClosed)
	return nil
}

// end ends the path with a reason, if it has not ended.
func (l *link) end(reason error) { l.endWith(reason, nil) }

// endWith does what end does, and calls last first. After that pion/sctp notices, and the socket
// may be closed.
func (l *link) endWith(reason error, last func()) {
	l.mu.Lock()
	if l.ending {
		l.mu.Unlock()
		return
	}
	l.ending = true
	l.mu.Unlock()
	if last != nil {
		last()
	}
	l.mu.Lock()
	l.closed, l.reason = true, reason
	l.socket.queued.Add(-int64(l.queue.Len()))
	l.mu.Unlock()
	l.socket.remove(l)
	close(l.gone)
	if vacate := l.leave(); vacate != nil {
		vacate()
	}
	l.ready.Broadcast()
}

// occupy notes how the end of l gives back its place.
func (l *link) occupy(vacate func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vacate = vacate
}

// leave takes its place from l. It returns how to give that back, or nil if l has none.
func (l *link) leave() (vacate func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	vacate, l.vacate = l.vacate, nil
	return vacate
}

// Reasons to end an association because of what the peer sent.
var (
	errNoData = errors.New("a DATA chunk without data")
	errChunk  = fmt.Errorf("a DATA chunk of more than %d bytes", maxChunk)
)

// maxChunk is the maximum length of a chunk that pion/sctp accepts, in bytes.
const maxChunk = pionPacket - headerLen - noteFront - noteBack

// take takes the chunks of a packet from the peer. The header has been checked.
func (l *link) take(chunks []byte, from path) {
	l.heard.Store(time.Now().UnixNano())
	h := header{src: pionPort, dst: pionPort, tag: l.tag}
	b := packets.Get().(*[pionPacket]byte)
	p := h.append(b[:0])
	for len(chunks) > 0 {
		var c chunk
		if c, chunks = nextChunk(chunks); c == nil {
			break
		}
		if len(c) > maxChunk {
			l.refuse(causeProtocolViolation, errChunk)
			break
		}
		if len(p)+padded(len(c)+noteFront+noteBack) > pionPacket {
			l.put(p, from)
			b = packets.Get().(*[pionPacket]byte)
			p = h.append(b[:0])
		}
		var ok bool
		if p, ok = l.translate(p, c); !ok {
			break
		}
	}
	if len(p) == headerLen {
		packets.Put(b)
		return
	}
	l.put(p, from)
}

// refuse aborts the association because of what the peer sent.
func (l *link) refuse(cause uint16, err error) {
	l.endWith(err, func() { l.socket.abort(l, cause, err.Error()) })
}

// translate appends a chunk in the form for pion/sctp. It reports false if the rest of the packet
// must be ignored.
func (l *link) translate(p []byte, c chunk) ([]byte, bool) {
	switch t := c.kind(); t {
	case chunkData:
		return l.data(p, c)
	case chunkSack, chunkHeartbeat, chunkHeartbeatAck, chunkShutdown, chunkShutdownAck, chunkError,
		chunkShutdownComplete:
		return pad(append(p, c...), 0), true
	case chunkAbort:
		l.end(&AbortError{causeOf(c)})
		return p, false
	case chunkInit, chunkInitAck, chunkCookieEcho, chunkCookieAck:
		return p, true // a duplicate from the startup
	default:
		const skip = 0x80 // RFC 9260 section 3.2
		return p, t&skip != 0
	}
}

// data appends a DATA chunk, with a note.
func (l *link) data(p []byte, c chunk) ([]byte, bool) {
	if len(c) <= dataHeaderLen { // RFC 9260 section 6.2
		l.refuse(causeProtocolViolation, errNoData)
		return p, false
	}
	stream := binary.BigEndian.Uint16(c[8:])
	if stream >= l.streams { // the sessions ignore it (RFC 9260 section 6.5)
		l.socket.complain(l, parameter{causeInvalidStream, []byte{c[8], c[9], 0, 0}})
	}
	flags, begin := c.flags(), len(p)
	p = append(p, c[:dataHeaderLen]...)
	p[begin+1] = flags | flagUnordered
	binary.BigEndian.PutUint32(p[begin+8:], 0) // stream 0, SSN 0
	if flags&flagBegin != 0 {
		p = binary.BigEndian.AppendUint16(p, stream)
		p = append(p, 0, flags&flagUnordered)
		p = append(p, c[4:8]...)
	}
	p = append(p, c[dataHeaderLen:]...)
	if flags&flagEnd != 0 {
		p = append(p, c[4:8]...)
	}
	binary.BigEndian.PutUint16(p[begin+2:], uint16(len(p)-begin))
	return pad(p, 0), true
}

// put queues a packet for pion/sctp.
func (l *link) put(p []byte, from path) {
	l.mu.Lock()
	defer l.mu.Unlock()
	crowded := l.socket.queued.Load() >= maxQueued && l.queue.Len() >= fairQueue
	if l.closed || crowded || !l.queue.Room(1) {
		packets.Put((*[pionPacket]byte)(p[:pionPacket]))
		return
	}
	l.to = from // a NAT may have changed the port (RFC 6951 section 5.4)
	l.queue.Push(p)
	l.socket.queued.Add(1)
	l.ready.Signal()
}

// The rest of net.Conn, which pion/sctp does not use.

func (l *link) LocalAddr() net.Addr              { return l.socket.conn.LocalAddr() }
func (l *link) RemoteAddr() net.Addr             { return net.UDPAddrFromAddrPort(l.key.udp) }
func (l *link) SetDeadline(time.Time) error      { return nil }
func (l *link) SetReadDeadline(time.Time) error  { return nil }
func (l *link) SetWriteDeadline(time.Time) error { return nil }
