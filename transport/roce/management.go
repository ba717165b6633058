package roce

import (
	"net/netip"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// management takes a datagram for the connection manager (IBTA section 12.9).
func (d *device) management(h *bth.Packet, p []byte, src netip.AddrPort) {
	from := src.Addr()
	if h.Opcode != bth.Datagram || h.DETH.QKey != cm.QKey {
		atomic.AddUint64(&d.counters.stats.BadPackets, 1)
		return
	}
	m, transaction, err := cm.Parse(h.Payload)
	if err != nil {
		atomic.AddUint64(&d.counters.stats.BadPackets, 1)
		return
	}
	d.traceFrom(d.addressee(m, from), src, p)
	switch m := m.(type) {
	case *cm.REQ:
		d.asks(m, transaction, from)
	case *cm.MRA:
		if c, k := d.conn(m.Remote, from); c != nil && k.from(m.Local) {
			c.event(m)
		}
	case *cm.REP:
		d.grants(m, transaction, from)
	case *cm.RTU:
		if c, k := d.conn(m.Remote, from); c != nil && k.peerID == m.Local {
			c.established()
		}
	case *cm.REJ:
		d.refuses(m, from)
	case *cm.DREQ:
		d.ends(m, transaction, from)
	case *cm.DREP:
		if c, k := d.conn(m.Remote, from); c != nil && k.peerID == m.Local && c.told.Load() {
			c.ended()
		}
	}
}

// addressee returns the Config of the Listener or connection that a message is for, or nil.
func (d *device) addressee(m cm.Message, from netip.Addr) *Config {
	var id uint32
	switch m := m.(type) {
	case *cm.REQ:
		port, _ := cm.ServicePort(m.ServiceID)
		d.mu.Lock()
		defer d.mu.Unlock()
		if l := d.services[port]; l != nil {
			return l.cfg
		}
		return nil
	case *cm.MRA:
		id = m.Remote
	case *cm.REP:
		id = m.Remote
	case *cm.RTU:
		id = m.Remote
	case *cm.REJ:
		id = m.Remote
	case *cm.DREQ:
		id = m.Remote
	case *cm.DREP:
		id = m.Remote
	}
	if c, _ := d.conn(id, from); c != nil {
		return c.cfg
	}
	return nil
}

// conn returns the connection with a communication id of this end, if its peer has that address.
func (d *device) conn(id uint32, from netip.Addr) (*conn, known) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.conns[id]
	if c == nil || c.peer != from {
		return nil, known{}
	}
	return c, c.known
}

// ends takes a DREQ.
func (d *device) ends(m *cm.DREQ, transaction uint64, from netip.Addr) {
	c, k := d.conn(m.Remote, from)
	if c != nil && (k.peerID != m.Local || c.qp != m.QP || k.ep == nil) {
		atomic.AddUint64(&d.counters.stats.Strays, 1)
		return
	}
	// A DREQ for an unknown connection comes after its DREP was lost. So it is answered again.
	var cfg *Config
	if c != nil {
		cfg = c.cfg
	}
	d.queueMAD(cfg, from, &cm.DREP{Local: m.Remote, Remote: m.Local}, transaction)
	if c != nil {
		c.established() // if it was the RTU that was lost
		c.ended()
		k.ep.closedByPeer()
	}
}

// asks takes a REQ.
func (d *device) asks(m *cm.REQ, transaction uint64, from netip.Addr) {
	q := question{from, m.CommID}
	d.mu.Lock()
	if c := d.asked[q]; c != nil { // a duplicate
		again := c.again
		if c.peerQP != m.QP {
			again = &cm.REJ{Remote: m.CommID, About: cm.AboutREQ, Reason: cm.DuplicateCommID}
		}
		d.mu.Unlock()
		d.queueMAD(c.cfg, from, again, transaction)
		return
	}
	if r := d.past.refusal(q); r != nil {
		d.mu.Unlock()
		d.queueMAD(nil, from, r, transaction)
		return
	}
	port, ok := cm.ServicePort(m.ServiceID)
	l := d.services[port]
	d.mu.Unlock()
	var cfg *Config
	if l != nil {
		cfg = l.cfg
	}
	refuse := func(why cm.Reason) {
		d.queueMAD(cfg, from, &cm.REJ{Remote: m.CommID, About: cm.AboutREQ, Reason: why}, transaction)
	}
	if !ok || l == nil {
		refuse(cm.InvalidService)
		return
	}
	if why := l.asked(d, m, transaction, from); why != 0 {
		atomic.AddUint64(&l.cfg.Counters.stats.Rejected, 1)
		refuse(why)
	}
}

// grants takes a REP.
func (d *device) grants(m *cm.REP, transaction uint64, from netip.Addr) {
	c, k := d.conn(m.Remote, from)
	switch {
	case c == nil || c.asked:
		// The dial was given up. Tell the peer, so that it need not wait.
		d.queueMAD(nil, from, &cm.REJ{Local: m.Remote, Remote: m.Local, About: cm.AboutREP,
			Reason: cm.InvalidCommID}, transaction)
	case k.again == nil:
		c.event(m)
	case k.peerID == m.Local: // the RTU was lost
		d.queueMAD(c.cfg, from, k.again, transaction)
	}
}

// refuses takes a REJ. A peer that gives up a dial may not know our communication id.
func (d *device) refuses(m *cm.REJ, from netip.Addr) {
	c, k := d.conn(m.Remote, from)
	if c == nil && m.Reason == cm.Timeout {
		d.mu.Lock()
		if c = d.asked[question{from, m.Local}]; c != nil {
			k = c.known
		}
		if c != nil && c.isUp.Load() {
			c = nil // it knows our ID: this is of a former attempt, with the same ID of the peer's
		}
		d.mu.Unlock()
	}
	switch {
	case c == nil, !k.from(m.Local):
	case !c.isUp.Load() || k.ep == nil:
		c.event(m)
	default:
		c.ended()
		k.ep.closedByPeer()
	}
}
