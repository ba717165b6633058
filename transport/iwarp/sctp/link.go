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

// Package pion/sctp sends from this port to the same, whatever it is told.
const pionPort = 5000

// pionPacket is the most bytes of a packet that pion/sctp reads.
const pionPacket = 8192

// A message that is handed to pion/sctp has a note around it, since that does not say what it was:
// its stream, whether it was ordered, and its first TSN in front, and behind it its last. All come
// on one stream, so one goroutine takes what comes on all of them, in the order in which it does.
const (
	noteFront = 8
	noteBack  = 4
)

// link is the path of an association's packets, between a socket and pion/sctp, whose net.Conn it
// is. It edits them: ports, the checksum, and notes.
type link struct {
	socket  *socket
	ports   header // as this side sends them; tag is the peer's
	tag     uint32 // of this side
	streams uint16 // the peer may send on: ids below that
	key     peerKey
	most    int          // bytes of a packet, that pion/sctp makes
	mtu     atomic.Int32 // of the path now, no more than that
	heard   atomic.Int64 // when the peer was heard last, in unix ns

	mu     sync.Mutex // guards what follows
	to     path
	queue  ring.Ring[[]byte] // packets for Read
	ready  sync.Cond
	ending bool
	closed bool  // and the last has been said
	reason error // why the packets of the peer end the association
}

// maxQueue bounds the packets of an association that wait for pion/sctp, and maxQueued those of a
// socket, but for fairQueue of each association. More are lost, as the network may lose them.
const (
	maxQueue  = 512
	maxQueued = 4096
	fairQueue = 16
)

// packets for pion/sctp, of pionPacket bytes.
var packets = sync.Pool{New: func() any { return new([pionPacket]byte) }}

var _ net.Conn = (*link)(nil)

func newLink(s *socket, ports header, tag uint32, streams uint16, to path) *link {
	l := &link{
		socket: s, ports: ports, tag: tag, streams: streams, to: to,
		queue: ring.New[[]byte](maxQueue),
	}
	l.ready.L = &l.mu
	l.key = peerKey{to.peer, ports.dst, ports.src}
	l.heard.Store(time.Now().UnixNano())
	l.most = cmp.Or(s.cfg.MTU, packetMTU(to.peer), defaultMTU)
	l.mtu.Store(int32(l.most))
	return l
}

// look finds out what the path takes now.
func (l *link) look() {
	if l.socket.cfg.MTU != 0 {
		return
	}
	if n := packetMTU(l.path().peer); n != 0 {
		l.mtu.Store(int32(min(n, l.most)))
	}
}

// path is where packets go.
func (l *link) path() path {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to
}

// maxMessage is the most bytes of a message that fits one packet.
func (l *link) maxMessage() int {
	return (int(l.mtu.Load()) - headerLen - dataHeaderLen) &^ 3
}

// Read reads a packet of the peer.
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

// Write sends a packet, in several where the path has come to take less. A chunk that is too long
// for it is left to IP to fragment.
func (l *link) Write(p []byte) (int, error) {
	to := l.path()
	l.ports.put(p)
	hasten(p[headerLen:])
	for begin := 0; ; {
		mtu, next := int(l.mtu.Load()), len(p)
		if next-begin > mtu {
			next = splitAt(p[begin:], mtu) + begin
		}
		l.socket.send(seal(p[begin:next]), to)
		if next == len(p) {
			return len(p), nil
		}
		// The header of the next goes where the last has ended.
		begin = next - headerLen
		l.ports.put(p[begin:])
	}
}

// hasten asks for acknowledgements without delay of session control messages, which this side waits
// for: it says nothing behind one until then, and the end of a session takes two.
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

// splitAt returns where a packet is to end that has no more than mtu bytes, if one chunk has not.
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

// end ends the path for a reason, unless it has ended.
func (l *link) end(reason error) { l.endWith(reason, nil) }

// endWith is end that says something last, before pion/sctp can notice: with that the socket may
// end.
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
	l.ready.Broadcast()
}

// Why what a peer sends ends the association.
var (
	errNoData = errors.New("a DATA chunk without data")
	errChunk  = fmt.Errorf("a DATA chunk of more than %d bytes", maxChunk)
)

// maxChunk is the most bytes of a chunk that pion/sctp can be given.
const maxChunk = pionPacket - headerLen - noteFront - noteBack

// take takes the chunks of a packet of the peer, whose header is right.
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

// refuse ends the association for what the peer has sent.
func (l *link) refuse(cause uint16, err error) {
	l.endWith(err, func() { l.socket.abort(l, cause, err.Error()) })
}

// translate appends a chunk as pion/sctp is to see it. It reports false where the packet is to be
// looked at no further.
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
		return p, true // an echo of the startup
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
	if stream >= l.streams { // the session layer discards it (RFC 9260 section 6.5)
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

// What net.Conn has besides, and pion/sctp does not use.

func (l *link) LocalAddr() net.Addr              { return l.socket.conn.LocalAddr() }
func (l *link) RemoteAddr() net.Addr             { return net.UDPAddrFromAddrPort(l.key.udp) }
func (l *link) SetDeadline(time.Time) error      { return nil }
func (l *link) SetReadDeadline(time.Time) error  { return nil }
func (l *link) SetWriteDeadline(time.Time) error { return nil }
