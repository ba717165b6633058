package roce

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// The retransmission of messages: the first after firstRetry, then each after twice as long, up to
// mostRetry.
const (
	firstRetry = 200 * time.Millisecond
	mostRetry  = 2 * time.Second

	// endTries is how often a peer is asked to end the connection, the first time included.
	endTries = 4
	// refusedTime is how long a peer whose request was refused may take to end the connection
	// itself. Until then it can learn the reason.
	refusedTime = 2 * time.Second
)

// conn is a connection in the view of the connection manager.
type conn struct {
	dev         *device
	cfg         *Config
	id          uint32 // communication id
	peer        netip.Addr
	qp          uint32
	transaction uint64
	asked       bool    // the peer asked for it; device.asked has it
	port        uint16  // drawn by this end; 0: none
	free        func()  // returns its share to the Listener; nil: none
	refusal     *cm.REJ // the last answer to the peer's request; nil: none

	known        // guarded by the device's lock during the setup
	joined *host // of the peer; nil before established; guarded by the device's lock

	events  chan cm.Message // for the goroutine that sets it up
	isUp    atomic.Bool
	told    atomic.Bool   // the peer was asked to end the connection
	up      chan struct{} // closed when isUp
	over    chan struct{} // closed when the peer knows of the end, or asks for it
	overOne sync.Once
}

// known is what becomes known during the setup.
type known struct {
	peerID, peerQP uint32     // communication id and queue pair of the peer; 0: not yet
	ep             *endpoint  // nil: not yet
	again          cm.Message // answers a duplicate message
}

// from reports whether a message with this communication id may be the peer's.
func (k *known) from(id uint32) bool { return k.peerID == 0 || k.peerID == id }

// maxEvents is how many messages may wait for the goroutine that sets up a connection. Further ones
// are lost.
const maxEvents = 4

// newConn makes a connection with an unused queue pair number. It uses the device until remove. It
// returns nil if nobody else uses the device any more.
func (d *device) newConn(cfg *Config, peer netip.Addr) *conn {
	if !d.retain() {
		return nil
	}
	c := &conn{
		dev: d, cfg: cfg, peer: peer, qp: d.reserve(), transaction: uint64(random32()),
		events: make(chan cm.Message, maxEvents), up: make(chan struct{}), over: make(chan struct{}),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for c.id = random32(); d.conns[c.id] != nil; c.id = random32() {
	}
	d.conns[c.id] = c
	return c
}

// remove removes the connection from the device.
func (c *conn) remove() {
	d := c.dev
	d.mu.Lock()
	delete(d.conns, c.id)
	delete(d.pairs, c.qp)
	delete(d.ports, c.port)
	d.leave(c)
	if q := (question{c.peer, c.peerID}); c.asked && d.asked[q] == c {
		delete(d.asked, q)
		d.past.add(q, c.refusal)
	}
	d.mu.Unlock()
	if c.free != nil {
		c.free()
	}
	d.release()
}

// event passes a message to the goroutine that sets up the connection.
func (c *conn) event(m cm.Message) {
	select {
	case c.events <- m:
	default:
	}
}

// know records what has become known, and routes packets of the peer to the endpoint.
func (c *conn) know(k known) {
	c.dev.mu.Lock()
	defer c.dev.mu.Unlock()
	c.known = k
	c.dev.pairs[c.qp] = k.ep
}

// established notes that the peer considers the connection made.
func (c *conn) established() {
	if !c.isUp.Load() && c.isUp.CompareAndSwap(false, true) {
		c.dev.join(c)
		close(c.up)
	}
}

// send sends a message to the peer's connection manager.
func (c *conn) send(m cm.Message) {
	c.dev.queueMAD(c.cfg, c.peer, m, c.transaction)
	c.dev.flush()
}

// reject tells the peer that there is no connection.
func (c *conn) reject(about cm.Kind, why cm.Reason, private []byte) {
	c.refusal = &cm.REJ{Local: c.id, Remote: c.peerID, About: about, Reason: why, Private: private}
	c.send(c.refusal)
}

// askToEnd asks the peer to end the connection.
func (c *conn) askToEnd() {
	if c.isUp.Load() {
		c.told.Store(true)
		c.send(&cm.DREQ{Local: c.id, Remote: c.peerID, QP: c.peerQP})
	}
}

// ended notes that the peer knows of the end.
func (c *conn) ended() { c.overOne.Do(func() { close(c.over) }) }

// end tells the peer that the connection has ended, and removes it from the device. If a request of
// the peer was refused, the peer first gets some time to learn the reason.
func (c *conn) end(refused bool) {
	defer c.remove()
	if !c.isUp.Load() || c.await(0) {
		return
	}
	if refused && c.await(refusedTime) {
		return
	}
	wait := firstRetry / 2
	for i := range endTries {
		if i > 0 || !c.told.Load() {
			c.askToEnd()
		}
		if c.await(wait) {
			return
		}
		wait *= 2
	}
}

// await waits until the peer knows of the end, and reports whether it does.
func (c *conn) await(d time.Duration) bool {
	select {
	case <-c.over:
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.over:
		return true
	case <-t.C:
		return false
	}
}
