package roce

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// receiveLen is the most that one system call receives, in bytes: one datagram, or several of one
// size.
const receiveLen = 64 << 10

// device is what all connections at one local address share: the socket, and the routing of
// incoming packets. One goroutine receives, and calls the endpoints, but for the packets of hosts
// that are held up (host.go). Another one sends what others could not. If the upper layer of an
// endpoint ends one of them, a new one goes on for the other endpoints.
type device struct {
	network  *network
	local    netip.AddrPort
	mtu      int // largest path MTU
	guid     uint64
	sock     socket
	counters *Counters // for packets that belong to no connection

	users  int // the lock of network guards it
	closed chan struct{}

	mu       sync.Mutex // guards what follows
	pairs    map[uint32]*endpoint
	services map[uint16]*Listener
	conns    map[uint32]*conn // by our communication id
	asked    map[question]*conn
	past     past
	ports    map[uint16]bool // drawn by connections of this end
	hosts    map[netip.Addr]*host

	readyMu    sync.Mutex // guards what follows, and queued of endpoints
	mads       []mad
	ready      []*endpoint
	completing []*endpoint  // have completions to deliver
	pending    atomic.Int32 // length of mads and ready

	sendMu sync.Mutex // guards batch and sock.send
	batch  *batch
	full   atomic.Bool // the system takes no more; the sender waits
	wake   chan struct{}
	over   chan struct{}
	group  sync.WaitGroup

	strangers host         // all hosts without a connection together
	room      *fair.Shares // of maxWaiting
	buffers   sync.Pool    // of *[]byte, for what waits

	arriving sync.Mutex // held while packets are taken; guards what follows, and parts of hosts
	in       bth.Path
	from     netip.AddrPort // the peer that in belongs to
}

// question identifies a peer's request for a connection.
type question struct {
	from netip.Addr
	id   uint32 // the peer's communication id
}

// mad is a message to the connection manager of a peer.
type mad struct {
	cfg *Config // for tracing; nil: not traced
	to  netip.Addr
	p   []byte
}

// maxMADs is how many may wait to be sent. Further ones are lost, as by a network.
const maxMADs = 256

func newDevice(n *network, local netip.Addr, sock socket, mtu int, cfg *Config) *device {
	d := &device{
		network: n, local: netip.AddrPortFrom(local, UDPPort), mtu: mtu, guid: uint64(random32())<<32 | 1,
		sock: sock, counters: cfg.Counters, users: 1, closed: make(chan struct{}),
		pairs: make(map[uint32]*endpoint), services: make(map[uint16]*Listener),
		conns: make(map[uint32]*conn), asked: make(map[question]*conn), ports: make(map[uint16]bool),
		hosts: make(map[netip.Addr]*host), room: fair.New(maxWaiting),
		batch: newBatch(sock.segments()), wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	d.strangers.reader = n.processors.Join(peerhost.Host{})
	d.group.Go(d.receive)
	d.group.Go(d.sender)
	return d
}

// close closes the device, which nobody uses any more. It first sends what peers should be told.
func (d *device) close() {
	d.sendMu.Lock() // unlike flush, wait for a pending send
	for d.send(flushTurns, false) && !d.full.Load() {
	}
	close(d.over)
	d.sock.close() // with nobody sending: a system call under way would keep the port
	d.sendMu.Unlock()
	d.group.Wait()
	d.strangers.reader.Leave()
}

// random32 returns a random number other than 0.
func random32() uint32 {
	var b [4]byte
	for {
		_, _ = rand.Read(b[:]) // does not fail
		if n := binary.BigEndian.Uint32(b[:]); n != 0 {
			return n
		}
	}
}

// reserve returns an unused queue pair number. It has no endpoint yet.
func (d *device) reserve() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		qp := random32() & bth.Mask24
		if _, taken := d.pairs[qp]; qp > cm.QP && !taken { // 0 and 1 are for management
			d.pairs[qp] = nil
			return qp
		}
	}
}

// schedule queues an endpoint for its turn to send.
func (d *device) schedule(e *endpoint) {
	d.readyMu.Lock()
	if !e.queued {
		e.queued = true
		d.ready = append(d.ready, e)
		d.pending.Add(1)
	}
	d.readyMu.Unlock()
}

// next returns the endpoint whose turn it is, or nil.
func (d *device) next() *endpoint {
	d.readyMu.Lock()
	defer d.readyMu.Unlock()
	if len(d.ready) == 0 {
		return nil
	}
	e := d.ready[0]
	d.ready = d.ready[:copy(d.ready, d.ready[1:])]
	e.queued = false
	d.pending.Add(-1)
	return e
}

// flushTurns is how many batches a caller sends for others.
const flushTurns = 4

// flush sends what it can without waiting.
func (d *device) flush() {
	for d.pending.Load() > 0 && !d.full.Load() && d.sendMu.TryLock() {
		more := d.send(flushTurns, false)
		d.sendMu.Unlock()
		if more {
			d.wakeSender()
			return
		}
	}
}

func (d *device) wakeSender() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// sender sends what flush leaves, and delivers the completions that result from sending.
func (d *device) sender() {
	returned := false
	defer func() {
		if !returned {
			d.wakeSender()
			d.group.Go(d.sender)
		}
	}()
	d.sendOn()
	returned = true
}

// sendOn is sender, until the device is closed.
func (d *device) sendOn() {
	for {
		select {
		case <-d.wake:
		case <-d.over:
			return
		}
		d.sendMu.Lock()
		d.full.Store(false)
		for d.send(flushTurns, true) {
			select {
			case <-d.over:
				d.sendMu.Unlock()
				return
			default:
			}
		}
		d.sendMu.Unlock()
		for e := d.completed(); e != nil; e = d.completed() {
			e.deliver()
		}
		d.flush()
	}
}

// completed returns an endpoint with completions to deliver, or nil.
func (d *device) completed() *endpoint {
	d.readyMu.Lock()
	defer d.readyMu.Unlock()
	if len(d.completing) == 0 {
		return nil
	}
	e := d.completing[0]
	d.completing = slices.Delete(d.completing, 0, 1)
	return e
}

// send sends at most so many batches. It reports whether there is more. sendMu is held.
func (d *device) send(batches int, wait bool) (more bool) {
	for range batches {
		if len(d.batch.unsent()) == 0 && !d.gather() {
			return false
		}
		all := d.batch.unsent()
		n := d.sock.send(all, wait)
		d.batch.sent += n
		if n < len(all) {
			d.full.Store(true)
			return true
		}
	}
	return d.pending.Load() > 0
}

// gather fills the batch. It reports whether there is anything in it.
func (d *device) gather() bool {
	b := d.batch
	b.reset()
	b.segments = d.sock.segments()
	for d.sendMAD(b) {
	}
	now := time.Now()
	for b.room() {
		e := d.next()
		if e == nil {
			break
		}
		more, completed := e.fill(b, now)
		if more {
			d.schedule(e)
		}
		if completed {
			d.readyMu.Lock()
			d.completing = append(d.completing, e)
			d.readyMu.Unlock()
			d.wakeSender()
		}
	}
	return len(b.messages) > 0
}

// queueMAD queues a message for the connection manager of a peer. A cfg that is not nil traces it.
func (d *device) queueMAD(cfg *Config, to netip.Addr, m cm.Message, transaction uint64) {
	d.readyMu.Lock()
	defer d.readyMu.Unlock()
	if len(d.mads) < maxMADs {
		d.mads = append(d.mads, mad{cfg, to, cm.Append(nil, m, transaction)})
		d.pending.Add(1)
	}
}

// sendMAD adds the next queued message to a batch. It reports false if there is none, or no room.
func (d *device) sendMAD(b *batch) bool {
	if !b.room() {
		return false
	}
	d.readyMu.Lock()
	if len(d.mads) == 0 {
		d.readyMu.Unlock()
		return false
	}
	m := d.mads[0]
	d.mads = slices.Delete(d.mads, 0, 1)
	d.pending.Add(-1)
	d.readyMu.Unlock()
	to := netip.AddrPortFrom(m.to, UDPPort)
	path := bth.NewPath(d.local, to)
	b.begin(&path, to, d.traceTo(m.cfg, to))
	h := bth.Packet{
		Opcode: bth.Datagram, Migrated: true, PKey: bth.DefaultPKey, QP: cm.QP,
		DETH: bth.DETH{QKey: cm.QKey, QP: cm.QP},
	}
	if p, ok := b.Packet(&h, len(m.p)); ok {
		copy(p, m.p)
		b.seal()
	}
	return true
}

// traceTo returns the function that traces packets to a peer, or nil.
func (d *device) traceTo(cfg *Config, to netip.AddrPort) func([]byte) {
	if cfg == nil || cfg.Trace == nil {
		return nil
	}
	return func(p []byte) { cfg.Trace(d.local, to, true, p) }
}

// traceFrom traces a received packet.
func (d *device) traceFrom(cfg *Config, from netip.AddrPort, p []byte) {
	if cfg != nil && cfg.Trace != nil {
		cfg.Trace(d.local, from, false, p)
	}
}

// receive receives until the socket is closed.
func (d *device) receive() {
	returned := false
	defer func() {
		if !returned {
			d.group.Go(d.receive)
		}
	}()
	d.receiveOn()
	returned = true
}

// receiveOn is receive.
func (d *device) receiveOn() {
	b := make([]byte, receiveLen)
	for {
		n, size, from, marked, err := d.sock.receive(b)
		if err != nil {
			select {
			case <-d.over:
				return
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // an error about an earlier datagram
		}
		d.received(b[:n], datagrams{n, size, from, marked})
		d.flush()
	}
}

// fullMember is the bit of a partition key that only full members have. A full member, as this end
// is, accepts packets from both kinds (IBTA section 10.9.1.1).
const fullMember = 0x8000

// errPartition: this provider has the default partition only. Packets of others are dropped (IBTA
// section 9.6.1.1.2).
var errPartition = errors.New("not the default partition")

// arrived takes datagrams; arriving is held.
func (d *device) arrived(b []byte, g *datagrams) {
	now, from := time.Now(), g.from
	if from != d.from {
		d.in, d.from = bth.NewPath(from, d.local), from
	}
	var e *endpoint // the endpoint whose packets are being taken
	for len(b) > 0 {
		p := b[:min(g.size, len(b))]
		b = b[len(p):]
		id, ok := d.in.Check(p)
		var h bth.Packet
		err := bth.ErrICRC
		if ok {
			h, err = bth.Parse(p)
		}
		if err == nil && h.PKey|fullMember != bth.DefaultPKey {
			err = errPartition
		}
		if err != nil {
			atomic.AddUint64(&d.counters.stats.BadPackets, 1)
			continue
		}
		if h.QP == cm.QP {
			d.management(&h, p, from)
			continue
		}
		if h.Opcode == bth.Datagram { // to a queue pair of another kind (IBTA section 9.6.1.1.3)
			atomic.AddUint64(&d.counters.stats.BadPackets, 1)
			continue
		}
		if e == nil || e.qp != h.QP {
			if e != nil {
				e.conclude()
			}
			if e = d.pair(h.QP, from.Addr()); e == nil || !e.begin() {
				atomic.AddUint64(&d.counters.stats.Strays, 1)
				e = nil
				continue
			}
		}
		d.traceFrom(e.cfg, from, p)
		e.take(&h, id, g.marked, now)
	}
	if e != nil {
		e.conclude()
	}
}

// pair returns the endpoint with a queue pair number, if its peer has that address.
func (d *device) pair(qp uint32, from netip.Addr) *endpoint {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.pairs[qp]
	if e == nil || e.peer.Addr() != from {
		return nil
	}
	return e
}
