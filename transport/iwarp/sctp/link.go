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

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// pion/sctp uses this port for both ends.
const pionPort = 5000

// pionPacket is the maximum size of a packet that pion/sctp reads, in bytes.
const pionPacket = 8192

// link carries an association's packets between a socket and pion/sctp. It is pion/sctp's net.Conn.
// It edits the packets: ports and checksum. It keeps the peer's DATA to itself, and chunks that
// would make pion/sctp work without end.
type link struct {
	socket  *socket
	ports   header // in packets from this side; tag is the peer's
	tag     uint32 // of this side
	ties    tieTags
	streams uint16 // the peer may send on ids below this
	key     peerKey
	host    peerhost.Host
	reader  fair.Reader // of an accepted association: its host is charged for the work
	in      *inbound
	most    int           // maximum packet that pion/sctp makes, in bytes
	mtu     atomic.Int32  // of the path now, at most most
	heard   atomic.Int64  // when the peer last sent a packet, in Unix ns
	leaving atomic.Bool   // pion/sctp is in the state SHUTDOWN-ACK-SENT
	sent    atomic.Uint32 // the highest TSN sent
	acked   uint32        // the highest that the peer has acknowledged; belongs to Read
	gone    chan struct{} // closed when the path has ended

	mu     sync.Mutex // guards what follows
	to     path
	queue  ring.Ring[queued] // packets for Read
	ready  sync.Cond
	ending bool
	closed bool   // and the last packet was sent
	reason error  // why the path ended
	vacate func() // gives back this association's place among those of the Listener
}

// queued is a packet that waits for Read, or a part of one, behind which more follow.
type queued struct {
	packet []byte
	more   bool
}

// maxQueue is how many packets of an association may wait for Read. fairQueue of them are always
// allowed; maxQueued is how many more those of a socket have, shared out by host. Others are
// dropped, as by a network.
const (
	maxQueue  = 512
	maxQueued = 4096
	fairQueue = 16
)

// packets holds buffers of pionPacket bytes for packets that wait.
var packets = sync.Pool{New: func() any { return new([pionPacket]byte) }}

var _ net.Conn = (*link)(nil)

func newLink(s *socket, ports header, tag uint32, streams uint16, to path) *link {
	l := &link{
		socket: s, ports: ports, tag: tag, ties: newTieTags(), streams: streams, to: to,
		host: hostOf(to.peer.Addr()), queue: ring.New[queued](maxQueue), gone: make(chan struct{}),
	}
	l.ready.L = &l.mu
	l.key = peerKey{to.peer, ports.dst, ports.src}
	l.heard.Store(time.Now().UnixNano())
	l.most = cmp.Or(s.cfg.MTU, packetMTU(to.peer), defaultMTU)
	l.mtu.Store(int32(l.most))
	l.in = newInbound(l)
	return l
}

// start sets the first TSNs of both sides, before anything is read or written.
func (l *link) start(ours, theirs uint32) {
	l.acked = ours - 1
	l.sent.Store(ours - 1)
	l.in.start(theirs)
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

// Read reads what a packet from the peer has for pion/sctp. It takes the rest of the packet, too.
// While other hosts lack processors, it waits.
func (l *link) Read(p []byte) (int, error) {
	for {
		q, err := l.next()
		if err != nil {
			l.in.close()
			return 0, err
		}
		l.reader.Await()
		n := l.read(p, q)
		packets.Put((*[pionPacket]byte)(q.packet[:pionPacket]))
		if n > headerLen {
			return n, nil
		}
	}
}

// next waits for a packet.
func (l *link) next() (queued, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.queue.Len() == 0 && !l.closed {
		l.ready.Wait()
	}
	q, ok := l.queue.Pop()
	if !ok {
		return q, l.reason
	}
	if !l.closed && l.queue.Len() >= fairQueue {
		l.socket.queued.Give(l.host, 1)
	}
	return q, nil
}

// read takes the DATA chunks of a packet, and puts the other chunks into p, behind a header. It
// returns their length.
func (l *link) read(p []byte, q queued) int {
	header{src: pionPort, dst: pionPort, tag: l.tag}.put(p)
	n, data := headerLen, 0
	var errs []byte // causes for an ERROR
	for rest := q.packet; len(rest) > 0; {
		c, next := nextChunk(rest)
		switch {
		case c.is(chunkData):
			data++
			if len(c) <= dataHeaderLen { // RFC 9260 section 6.2
				l.noData(c)
				return 0
			}
			errs = l.strange(errs, c)
		case c.is(chunkSack) && !l.plausible(c):
		default:
			n += copy(p[n:], rest[:len(rest)-len(next)])
		}
		rest = next
	}
	answer := 0
	if data > 0 && !l.leaving.Load() {
		var err error
		if answer, err = l.in.take(q.packet, q.more); err != nil {
			l.refuse(causeProtocolViolation, err)
			return 0
		}
	}
	l.charge(len(q.packet)+answer, data, n, answer > 0)
	if len(errs) > 0 {
		l.socket.complain(l, errs)
	}
	return n
}

// strange appends an error cause if a DATA chunk has a stream that does not exist, up to what a
// packet takes. The sessions ignore the chunk (RFC 9260 section 6.5).
func (l *link) strange(errs []byte, c chunk) []byte {
	stream := binary.BigEndian.Uint16(c[8:])
	if stream < l.streams || headerLen+chunkHeaderLen+len(errs)+8 > int(l.mtu.Load()) {
		return errs
	}
	return parameter{causeInvalidStream, []byte{c[8], c[9], 0, 0}}.append(errs)
}

// errSack is what is wrong with a SACK that is ignored.
var errSack = errors.New("a SACK of more than is outstanding")

// plausible reports whether a SACK covers no more than is outstanding. Its blocks are isolated (RFC
// 9260 section 3.3.4), so that holds for all of them together, and bounds the work of pion/sctp,
// which goes through all that each of them covers. Others are ignored.
func (l *link) plausible(c chunk) bool {
	if len(c) < sackLen {
		return false
	}
	cum := binary.BigEndian.Uint32(c[4:])
	outstanding, covered := int(int32(l.sent.Load()-cum)), 0
	blocks := int(binary.BigEndian.Uint16(c[12:]))
	if sackLen+4*blocks > len(c) {
		return false
	}
	for i := range blocks {
		b := c[sackLen+4*i:]
		covered += max(int(binary.BigEndian.Uint16(b[2:]))-int(binary.BigEndian.Uint16(b))+1, 1)
	}
	if covered > outstanding {
		atomic.AddUint64(&l.socket.cfg.Counters.stats.ExcessSacks, 1)
		l.socket.cfg.fault(l.key.udp, "SACK ignored", errSack)
		return false
	}
	if int32(cum-l.acked) > 0 {
		l.acked = cum
	}
	return true
}

// What costs as much as a read, more or less: bytes, chunks of DATA, and chunks sent that pion/sctp
// goes through. So does a SACK.
const (
	readBytes       = 2048
	readData        = 8
	readOutstanding = 256
)

// charge charges the peer's host for the work for a packet, which has some DATA chunks, n bytes for
// pion/sctp, and an answer, or not; both packets together have some bytes. pion/sctp may go through
// all that is outstanding.
func (l *link) charge(bytes, data, n int, answers bool) {
	cost := bytes/readBytes + data/readData
	if answers {
		cost++
	}
	if n > headerLen {
		cost += int(l.sent.Load()-l.acked) / readOutstanding
	}
	l.reader.Charge(cost)
}

// Write sends a packet, split into several if the path now takes less. IP fragments a chunk that is
// too long by itself.
func (l *link) Write(p []byte) (int, error) {
	to := l.path()
	l.ports.put(p)
	switch first, _ := nextChunk(p[headerLen:]); {
	case first.is(chunkShutdownAck):
		l.leaving.Store(true)
	case first.is(chunkShutdown) && len(first) == shutdownLen:
		binary.BigEndian.PutUint32(first[chunkHeaderLen:], l.in.shutdown())
	default:
		l.data(p[headerLen:])
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

// data notes the TSNs that are sent. It asks for immediate acknowledgement of session control
// messages: this side sends nothing behind one until it is acknowledged, and the end of a session
// takes two.
func (l *link) data(chunks []byte) {
	for len(chunks) > 0 {
		c, rest := nextChunk(chunks)
		if c == nil {
			return
		}
		if c.is(chunkData) && len(c) > dataHeaderLen {
			if tsn := tsnOf(c); int32(tsn-l.sent.Load()) > 0 {
				l.sent.Store(tsn)
			}
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
	if n := l.queue.Len() - fairQueue; n > 0 {
		l.socket.queued.Give(l.host, int64(n))
	}
	l.mu.Unlock()
	l.reader.Leave()
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

// maxChunk is the maximum length of a chunk that is accepted, in bytes.
const maxChunk = pionPacket - headerLen

// take queues the chunks of a packet from the peer. The header has been checked. Without room in
// the queue nothing is copied.
func (l *link) take(chunks []byte, from path) {
	l.heard.Store(time.Now().UnixNano())
	if first, _ := nextChunk(chunks); !first.is(chunkAbort) && !l.hasRoom() {
		return
	}
	var had [chunkShutdownComplete + 1]bool // of these, one in a packet goes on
	b := packets.Get().(*[pionPacket]byte)
	p := b[:0]
	for len(chunks) > 0 {
		c, rest := nextChunk(chunks)
		if c == nil {
			break
		}
		if len(c) > maxChunk {
			l.refuse(causeProtocolViolation, errChunk)
			break
		}
		if len(p)+padded(len(c)) > maxChunk {
			l.put(queued{p, true}, from)
			b = packets.Get().(*[pionPacket]byte)
			p = b[:0]
		}
		goesOn, more := l.sort(c)
		if t := c.kind(); goesOn && t != chunkData {
			goesOn, had[t] = !had[t], true
		}
		if goesOn {
			p = pad(append(p, c...), 0)
		}
		if !more {
			break
		}
		chunks = rest
	}
	if len(p) == 0 {
		packets.Put(b)
		return
	}
	l.put(queued{p, false}, from)
}

// refuse aborts the association because of what the peer sent.
func (l *link) refuse(cause uint16, err error) {
	l.endWith(err, func() { l.socket.abort(l, cause, err.Error()) })
}

// noData aborts the association because of a DATA chunk without data.
func (l *link) noData(c chunk) {
	if len(c) < dataHeaderLen {
		l.refuse(causeProtocolViolation, errNoData)
		return
	}
	tsn := string(c[4:8])
	l.endWith(errNoData, func() { l.socket.abort(l, causeNoUserData, tsn) })
}

// sort reports whether a chunk goes on to Read, and whether the rest of its packet is looked at.
func (l *link) sort(c chunk) (goesOn, more bool) {
	switch t := c.kind(); t {
	case chunkData, chunkSack, chunkHeartbeat, chunkHeartbeatAck, chunkShutdown, chunkShutdownAck,
		chunkShutdownComplete:
		return true, true
	case chunkAbort:
		l.end(&AbortError{causeOf(c)})
		return false, false
	case chunkInit, chunkInitAck, chunkCookieEcho, chunkCookieAck, // duplicates from the startup
		chunkError: // pion/sctp would do nothing for it
		return false, true
	default:
		const skip = 0x80 // RFC 9260 section 3.2
		return false, t&skip != 0
	}
}

// hasRoom reports whether the queue has room.
func (l *link) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && (l.queue.Len() < fairQueue || l.queue.Room(1) && l.socket.queued.Fits(l.host, 1))
}

// put queues a packet for Read.
func (l *link) put(q queued, from path) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.queue.Len() >= fairQueue &&
		!(l.queue.Room(1) && l.socket.queued.Take(l.host, 1)) {
		packets.Put((*[pionPacket]byte)(q.packet[:pionPacket]))
		return
	}
	l.to = from // a NAT may have changed the port (RFC 6951 section 5.4)
	l.queue.Push(q)
	l.ready.Signal()
}

// The rest of net.Conn, which pion/sctp does not use.

func (l *link) LocalAddr() net.Addr              { return l.socket.conn.LocalAddr() }
func (l *link) RemoteAddr() net.Addr             { return net.UDPAddrFromAddrPort(l.key.udp) }
func (l *link) SetDeadline(time.Time) error      { return nil }
func (l *link) SetReadDeadline(time.Time) error  { return nil }
func (l *link) SetWriteDeadline(time.Time) error { return nil }
