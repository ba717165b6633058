package roce

import (
	"net/netip"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// While processors are crowded, hosts that have had more than their share are held up (package
// fair). Their packets wait: if they were dropped, each would cost its sender a timeout. Whoever
// sends a packet from an address need not be there, so only hosts with a connection count as hosts
// of their own. All others count as one.

const (
	// maxWaiting bounds the datagrams that wait at a local address, in bytes. It is shared out by
	// address. Further ones are lost.
	maxWaiting = 4 << 20
	// entryLen is about what one that waits takes beside its bytes.
	entryLen = 64
	// short is the length of packets of which each costs as much as a read of its own. Of longer
	// ones, several come with one read.
	short = 256
)

// host is a host in the view of a device.
type host struct {
	reader fair.Reader // the zero Reader, if it only has connections that this end asked for
	conns  int         // guarded by device.mu

	// Guarded by device.arriving.
	held    bool        // goOn runs
	waiting []datagrams // oldest first, from next on
	next    int
	bytes   *[]byte // of waiting, one behind the other; nil: none
	at      int     // index in bytes
}

// datagrams came with one read from one address.
type datagrams struct {
	n, size int // bytes in all, and of each; the last may be shorter
	from    netip.AddrPort
	marked  bool // with a congestion mark
}

// count returns the number of datagrams.
func (g *datagrams) count() int { return (g.n + g.size - 1) / g.size }

// join makes a connection that is established count for its host.
func (d *device) join(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns[c.id] != c { // removed meanwhile
		return
	}
	h := d.hosts[c.peer]
	if h == nil {
		h = new(host)
		d.hosts[c.peer] = h
	}
	if c.asked && h.reader == (fair.Reader{}) {
		h.reader = d.network.processors.Join(hostOf(c.peer))
	}
	h.conns++
	c.joined = h
}

// leave undoes join; mu is held.
func (d *device) leave(c *conn) {
	h := c.joined
	if h == nil {
		return
	}
	c.joined = nil
	if h.conns--; h.conns == 0 {
		delete(d.hosts, c.peer)
		h.reader.Leave()
	}
}

func hostOf(ip netip.Addr) peerhost.Host { return peerhost.Of(Addr{IP: ip}) }

// host returns the host with an address.
func (d *device) host(ip netip.Addr) *host {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.hosts[ip]; h != nil {
		return h
	}
	return &d.strangers
}

// ask asks whether a host may have datagrams taken, and counts them. It returns nil, or a channel
// that is closed when the host may go on.
func (h *host) ask(g *datagrams) <-chan struct{} {
	held := h.reader.Ask()
	if n := g.count() - 1; n > 0 {
		h.reader.Charge(min(n, n*short/g.size))
	}
	return held
}

// received takes datagrams, or has them wait.
func (d *device) received(b []byte, g datagrams) {
	if g.from.Addr().Is4() != d.local.Addr().Is4() || g.size <= 0 || g.n == 0 {
		return
	}
	d.arriving.Lock()
	defer d.arriving.Unlock()
	h := d.host(g.from.Addr())
	if !h.held {
		held := h.ask(&g)
		if held == nil {
			d.arrived(b, &g)
			return
		}
		h.held = true
		d.group.Go(func() { d.goOn(h, held) })
	}
	if !d.room.Take(hostOf(g.from.Addr()), int64(g.n+entryLen)) {
		atomic.AddUint64(&d.counters.stats.Dropped, uint64(g.count()))
		return
	}
	if h.bytes == nil {
		if h.bytes, _ = d.buffers.Get().(*[]byte); h.bytes == nil {
			h.bytes = new([]byte)
		}
	}
	if h.at > len(*h.bytes)/2 {
		*h.bytes = append((*h.bytes)[:0], (*h.bytes)[h.at:]...)
		h.waiting = append(h.waiting[:0], h.waiting[h.next:]...)
		h.at, h.next = 0, 0
	}
	*h.bytes = append(*h.bytes, b...)
	h.waiting = append(h.waiting, g)
}

// goOn takes what waits of a host when it may go on, until nothing is left. If the upper layer of
// an endpoint ends the goroutine, another one goes on.
func (d *device) goOn(h *host, held <-chan struct{}) {
	returned := false
	defer func() {
		if !returned {
			d.group.Go(func() { d.goOn(h, nil) })
		}
	}()
	for more := true; more; {
		if held != nil {
			select {
			case <-held:
			case <-d.over:
				returned = true
				return
			}
		}
		held, more = d.takeWaiting(h)
		d.flush()
	}
	returned = true
}

// takeWaiting takes the datagrams of a host that have waited longest, unless it is held up. It
// reports false if there are none.
func (d *device) takeWaiting(h *host) (held <-chan struct{}, more bool) {
	d.arriving.Lock()
	defer d.arriving.Unlock()
	if h.next == len(h.waiting) {
		if h.bytes != nil {
			*h.bytes = (*h.bytes)[:0]
			d.buffers.Put(h.bytes)
		}
		h.bytes, h.waiting, h.next, h.at, h.held = nil, nil, 0, 0, false
		return nil, false
	}
	g := &h.waiting[h.next]
	if held := h.ask(g); held != nil {
		return held, true
	}
	b := (*h.bytes)[h.at:][:g.n]
	h.next++
	h.at += g.n
	d.room.Give(hostOf(g.from.Addr()), int64(g.n+entryLen))
	d.arrived(b, g)
	return nil, true
}
