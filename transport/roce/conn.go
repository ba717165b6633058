package roce

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// How often a message is sent again that is not answered: after the first of these times, and then
// after twice as long each time, up to the second.
const (
	firstRetry = 200 * time.Millisecond
	mostRetry  = 2 * time.Second

	// endTries is how often a peer is asked to end the connection, the first time included.
	endTries = 4
	// refusedTime is how long a peer that was refused something has to end the connection itself:
	// until then it can learn why.
	refusedTime = 2 * time.Second
)

// conn is a connection as the connection managers know it.
type conn struct {
	dev         *device
	cfg         *Config
	id          uint32 // communication id
	peer        netip.Addr
	qp          uint32
	transaction uint64
	asked       bool    // by the peer: device.asked has it
	port        uint16  // that this end has drawn; 0: none
	free        func()  // gives back its share of what the Listener has; nil: none
	refusal     *cm.REJ // the last word to a peer that has asked; nil: none

	known // the lock of the device guards it while the connection is set up

	events  chan cm.Message // to who sets it up
	isUp    atomic.Bool
	told    atomic.Bool   // the peer was asked to end it
	up      chan struct{} // closed when it is
	over    chan struct{} // closed when the peer knows of the end, or wants it
	overOne sync.Once
}

// known is what becomes known while a connection is set up.
type known struct {
	peerID, peerQP uint32     // communication id and queue pair of the peer; 0: not yet
	ep             *endpoint  // nil: not yet
	again          cm.Message // what answers a message that comes again
}

// maxEvents is how many messages may wait for who sets up a connection. Further ones are lost.
const maxEvents = 4

// newConn makes a connection with a number that nobody has. It uses the device until remove. It
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

// remove has the device forget the connection.
func (c *conn) remove() {
	d := c.dev
	d.mu.Lock()
	delete(d.conns, c.id)
	delete(d.pairs, c.qp)
	delete(d.ports, c.port)
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

// event tells who sets the connection up of a message.
func (c *conn) event(m cm.Message) {
	select {
	case c.events <- m:
	default:
	}
}

// know takes note of what has become known, and has packets of the peer reach the endpoint.
func (c *conn) know(k known) {
	c.dev.mu.Lock()
	defer c.dev.mu.Unlock()
	c.known = k
	c.dev.pairs[c.qp] = k.ep
}

// established takes note that the peer considers the connection made.
func (c *conn) established() {
	if !c.isUp.Load() && c.isUp.CompareAndSwap(false, true) {
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

// ended takes note that the peer knows of the end.
func (c *conn) ended() { c.overOne.Do(func() { close(c.over) }) }

// end tells the peer that the connection has ended, and has the device forget it. The peer may have
// been refused something, which it has some time to learn.
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
