package sctp

import (
	"crypto/rand"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
)

// socket carries the packets of associations in UDP datagrams (RFC 6951). It handles the packets
// that belong to no association: it answers INIT, COOKIE ECHO, and packets out of the blue.
type socket struct {
	cfg    *Config
	conn   packetConn
	bakery *bakery
	port   uint16 // accepts associations; 0: none

	// admits decides whether a peer gets a cookie. Again means that the peer has an association,
	// which the new one would replace. opened makes an association from a link whose peer has
	// returned a cookie. vacate is of the association that the new one replaces, or nil.
	admits func(a netip.Addr, again bool) bool
	opened func(l *link, c *cookie, vacate func())

	mu    sync.Mutex // guards what follows
	tags  map[uint32]*link
	peers map[peerKey]*link
	dials map[uint32]*dial
	deaf  bool // accept no new associations

	queued *fair.Shares // of maxQueued packets that wait, beyond fairQueue of each association

	done chan struct{} // closed when receiving has ended
}

// peerKey identifies a peer. Two stacks on one host, each with its own UDP port, may have the same
// SCTP port.
type peerKey struct {
	udp      netip.AddrPort
	src, dst uint16 // SCTP ports, in packets from the peer
}

// socketBuffer is the size in bytes that a socket asks the system for, in each direction. Datagrams
// beyond it are lost while this side is busy.
const socketBuffer = 4 << 20

func newSocket(cfg *Config, conn packetConn) *socket {
	if udp, ok := conn.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	}); ok { // the system gives what it allows
		_ = udp.SetReadBuffer(socketBuffer)
		_ = udp.SetWriteBuffer(socketBuffer)
	}
	return &socket{
		cfg: cfg, conn: conn, bakery: newBakery(), done: make(chan struct{}),
		queued: fair.New(maxQueued),
		tags:   make(map[uint32]*link), peers: make(map[peerKey]*link),
		dials: make(map[uint32]*dial),
	}
}

// run receives until the socket is closed.
func (s *socket) run() {
	defer close(s.done)
	p := make([]byte, 1<<16)
	for {
		n, from, err := s.conn.receive(p)
		noteReceived()
		switch {
		case err == nil:
			s.trace(false, p[:n], from)
			s.packet(p[:n], from)
		case isRefused(err):
			s.refused()
		default:
			s.mu.Lock()
			links := make([]*link, 0, len(s.tags))
			for _, l := range s.tags {
				links = append(links, l)
			}
			s.mu.Unlock()
			for _, l := range links {
				l.end(err)
			}
			return
		}
	}
}

// close closes the socket, and waits until receiving has ended.
func (s *socket) close() {
	s.conn.Close()
	<-s.done
}

// send sends a packet. If the network does not take it, it is lost, as on the way.
func (s *socket) send(p []byte, to path) {
	noteSent()
	s.trace(true, p, to)
	_ = s.conn.send(p, to)
}

// trace calls Config.Trace.
func (s *socket) trace(sent bool, p []byte, by path) {
	if s.cfg.Trace == nil {
		return
	}
	local := s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	if by.local.IsValid() {
		local = netip.AddrPortFrom(by.local, local.Port())
	}
	s.cfg.Trace(local, by.peer, sent, p)
}

// random returns a random number that is not zero.
func random() uint32 {
	var p [4]byte
	for {
		_, _ = rand.Read(p[:]) // does not fail
		if n := binary.BigEndian.Uint32(p[:]); n != 0 {
			return n
		}
	}
}

// packet takes a packet.
func (s *socket) packet(p []byte, from path) {
	h, ok := parseHeader(p)
	if !ok {
		atomic.AddUint64(&s.cfg.Counters.stats.BadPackets, 1)
		return
	}
	chunks := p[headerLen:]
	first, rest := nextChunk(chunks)
	switch {
	case first == nil:
		atomic.AddUint64(&s.cfg.Counters.stats.BadPackets, 1)
		return
	case first.is(chunkInit):
		if h.tag == 0 && len(rest) == 0 {
			s.init(h, first, from)
		}
		return
	case h.tag == 0: // RFC 9260 section 8.5.1
		return
	case first.is(chunkCookieEcho):
		if !s.cookieEcho(h, first, from) {
			return
		}
		if chunks = rest; len(chunks) == 0 {
			return
		}
	}
	l, d := s.find(h, first, from)
	switch {
	case d != nil && d.take(first):
	case l != nil:
		l.take(chunks, from)
	case d == nil:
		s.outOfTheBlue(h, first, from)
	}
}

// find returns the association that a packet belongs to, the attempt to make one, or both.
func (s *socket) find(h header, first chunk, from path) (*link, *dial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first.flags()&flagReflected != 0 && (first.is(chunkAbort) || first.is(chunkShutdownComplete)) {
		l := s.peers[peerKey{from.peer, h.src, h.dst}]
		if l != nil && l.ports.tag != h.tag { // RFC 9260 section 8.5.1
			l = nil
		}
		return l, nil
	}
	l, d := s.tags[h.tag], s.dials[h.tag]
	if l != nil && (l.ports.dst != h.src || l.ports.src != h.dst || l.key.udp.Addr() != from.peer.Addr()) {
		l = nil
	}
	if d != nil && (d.ports.dst != h.src || d.ports.src != h.dst || d.to.peer.Addr() != from.peer.Addr()) {
		d = nil
	}
	return l, d
}

// add routes the packets of a peer to l.
func (s *socket) add(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags[l.tag], s.peers[l.key] = l, l
}

// remove undoes add.
func (s *socket) remove(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tags[l.tag] == l {
		delete(s.tags, l.tag)
	}
	if s.peers[l.key] == l {
		delete(s.peers, l.key)
	}
}

// listens reports whether an SCTP port accepts associations; s.mu is held.
func (s *socket) listens(port uint16) bool { return s.port != 0 && s.port == port && !s.deaf }

// existing returns the association with the sender of a packet, the attempt to make one, or both,
// whatever the tag of the packet. s.mu is held.
func (s *socket) existing(h header, from path) (*link, *dial) {
	var attempt *dial
	for _, d := range s.dials { // one at most: a dialer has a socket for each association
		if d.ports.src == h.dst && d.ports.dst == h.src && d.to.peer == from.peer {
			attempt = d
		}
	}
	return s.peers[peerKey{from.peer, h.src, h.dst}], attempt
}

// init answers an INIT, and keeps no state (RFC 9260 sections 5.1, 5.2.1 and 5.2.2). An association
// that exists goes on, whoever has sent the INIT.
func (s *socket) init(h header, c chunk, from path) {
	theirs, err := parseInitiation(c.value())
	if err == errInitTag {
		return
	}
	back := header{src: h.dst, dst: h.src, tag: theirs.tag}
	s.mu.Lock()
	l, d := s.existing(h, from)
	listens := s.listens(h.dst)
	s.mu.Unlock()
	switch {
	case l != nil && l.leaving.Load(): // RFC 9260 section 9.2
		s.shutdownAck(l)
		return
	case d == nil && !listens:
		s.send(seal(appendAbort(back.append(nil), 0, causeUserAbort, "nobody listens")), from)
		return
	case err != nil:
		atomic.AddUint64(&s.cfg.Counters.stats.BadPackets, 1)
		s.send(seal(appendAbort(back.append(nil), 0, causeProtocolViolation, err.Error())), from)
		return
	}
	if err := s.cfg.agree(theirs.indication); err != nil {
		atomic.AddUint64(&s.cfg.Counters.stats.Indications, 1)
		s.cfg.fault(from.peer, "association refused", err)
		s.send(seal(appendAbort(back.append(nil), 0, causeUserAbort, err.Error())), from)
		return
	}
	if d == nil && !s.admits(from.peer.Addr(), l != nil) {
		s.full(back, from)
		return
	}
	k := cookie{
		from: from.peer, src: h.src, dst: h.dst, ours: s.cfg.initiation(), theirs: theirs,
	}
	if d != nil {
		k.ours = d.ours // both sides ask for the same association
	}
	if l != nil {
		k.ties = l.ties
	}
	ours := k.ours
	ours.cookie = s.bakery.bake(&k)
	ours.unrecognized = theirs.unrecognized
	s.send(seal(appendChunk(back.append(nil), chunkInitAck, 0, ours.append(nil))), from)
}

// full refuses an association for want of room.
func (s *socket) full(back header, from path) {
	atomic.AddUint64(&s.cfg.Counters.stats.Refused, 1)
	s.send(seal(appendAbort(back.append(nil), 0, causeOutOfResource, "")), from)
}

// cookieEcho makes an association from a returned cookie. If there is one with the peer, only a
// cookie that was made for its restart replaces it (RFC 9260 section 5.2.4; the actions are those
// of its table 12). cookieEcho reports whether the association of the cookie exists now.
func (s *socket) cookieEcho(h header, echo chunk, from path) bool {
	c, err := s.bakery.open(echo.value(), from.peer, h)
	if err == errCookie {
		atomic.AddUint64(&s.cfg.Counters.stats.BadPackets, 1)
		return false
	}
	s.mu.Lock()
	same := s.tags[c.ours.tag]
	old, d := s.existing(h, from)
	listens := s.listens(h.dst)
	s.mu.Unlock()
	back := header{src: h.dst, dst: h.src, tag: c.theirs.tag}
	exists := same != nil && same.ports == back
	switch {
	case err != nil && !exists:
		stale := parameter{causeStaleCookie, []byte{0, 0, 0, 0}}.append(nil)
		s.send(seal(appendChunk(back.append(nil), chunkError, 0, stale)), from)
		return false
	case d != nil: // connect takes action B or D
		d.put(echo)
		return exists
	case exists: // action D: the COOKIE ACK was lost
		s.cookieAck(back, from)
		return true
	case same != nil || !listens:
		return false // the peer of an association has shown its tag: it is too late for action B
	case old != nil && (old.ports.tag == back.tag || old.ties != c.ties):
		return false // action C, or a cookie of a former association
	case old != nil && old.leaving.Load():
		s.shutdownAck(old)
		cause := parameter{causeCookieInShutdown, nil}.append(nil)
		s.send(seal(appendChunk(back.append(nil), chunkError, 0, cause)), from)
		return false
	case !s.admits(from.peer.Addr(), old != nil):
		s.full(back, from)
		return false
	}
	var vacate func()
	if old != nil { // action A
		vacate = old.leave()
		old.end(ErrRestarted)
	}
	l := newLink(s, back, c.ours.tag, s.cfg.usable(c.ours, c.theirs), from)
	s.add(l)
	s.opened(l, c, vacate)
	s.cookieAck(back, from) // after opened: if that closes, the peer already knows the association
	return true
}

// cookieAck sends a COOKIE ACK.
func (s *socket) cookieAck(back header, to path) {
	s.send(seal(appendChunk(back.append(nil), chunkCookieAck, 0)), to)
}

// shutdownAck repeats the SHUTDOWN ACK of an association.
func (s *socket) shutdownAck(l *link) {
	s.send(seal(appendChunk(l.ports.append(nil), chunkShutdownAck, 0)), l.path())
}

// outOfTheBlue answers a packet that belongs to no association (RFC 9260 section 8.4).
func (s *socket) outOfTheBlue(h header, first chunk, from path) {
	back := header{src: h.dst, dst: h.src, tag: h.tag}
	switch first.kind() {
	case chunkAbort, chunkShutdownComplete, chunkCookieAck, chunkError, chunkInitAck:
	case chunkShutdownAck:
		s.send(seal(appendChunk(back.append(nil), chunkShutdownComplete, flagReflected)), from)
	default:
		atomic.AddUint64(&s.cfg.Counters.stats.OutOfTheBlue, 1)
		s.send(seal(appendChunk(back.append(nil), chunkAbort, flagReflected)), from)
	}
}

// abort sends an ABORT with a cause.
func (s *socket) abort(l *link, cause uint16, text string) {
	s.send(seal(appendAbort(l.ports.append(nil), 0, cause, text)), l.path())
}

// complain sends an ERROR with causes; the association goes on.
func (s *socket) complain(l *link, causes []byte) {
	s.send(seal(appendChunk(l.ports.append(nil), chunkError, 0, causes)), l.path())
}
