package faultnet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Memory is a network of hosts in memory, for streams. In a bubble of testing/synctest it works in
// virtual time. Methods may be called concurrently.
type Memory struct {
	cfg    Config
	faults *Counters

	mu        sync.Mutex // guards what follows
	listeners map[netip.AddrPort]*listener
	links     linkList
	port      uint16 // the last chosen port
}

// NewMemory returns a network without listeners.
func NewMemory(cfg Config) *Memory {
	cfg.ways(true)
	return &Memory{
		cfg:       cfg,
		faults:    cfg.counters(),
		listeners: make(map[netip.AddrPort]*listener),
		port:      1023,
	}
}

// backlog is how many connections wait for Accept; further ones are refused.
const backlog = 1024

// listener is a net.Listener of a Memory.
type listener struct {
	memory *Memory
	addr   netip.AddrPort
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen listens at an IP address and port, such as "10.0.0.1:20049". For port 0 it chooses one. It
// fails with an error that wraps syscall.EADDRINUSE if there is a listener already.
func (m *Memory) Listen(addr string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.Port() == 0 {
		at = netip.AddrPortFrom(at.Addr(), m.freePort())
	}
	if m.listeners[at] != nil {
		return nil, &net.OpError{
			Op: "listen", Net: "tcp", Addr: net.TCPAddrFromAddrPort(at), Err: syscall.EADDRINUSE,
		}
	}
	l := &listener{
		memory: m, addr: at, conns: make(chan net.Conn, backlog), closed: make(chan struct{}),
	}
	m.listeners[at] = l
	return l, nil
}

// freePort chooses a port; m.mu is held.
func (m *Memory) freePort() uint16 {
	if m.port++; m.port == 0 {
		m.port = 1024
	}
	return m.port
}

// DialContext is the type of the method DialContext of net.Dialer.
type DialContext = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialer returns a function that dials from a host with an IP address, such as "10.0.0.2". Dialling
// takes the delay of both directions. It fails with an error that wraps syscall.ECONNREFUSED if
// there is no listener.
func (m *Memory) Dialer(host string) DialContext {
	from, err := netip.ParseAddr(host)
	if err != nil {
		panic(fmt.Sprintf("faultnet: %v", err))
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		to, err := netip.ParseAddrPort(addr)
		if err != nil {
			return nil, err
		}
		c, err := m.dial(ctx, from, to)
		if err != nil {
			return nil, &net.OpError{
				Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err,
			}
		}
		return c, nil
	}
}

func (m *Memory) dial(ctx context.Context, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
	if delay := m.cfg.Up.Delay + m.cfg.Down.Delay; delay > 0 {
		roundTrip := time.NewTimer(delay)
		defer roundTrip.Stop()
		select {
		case <-roundTrip.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	link := m.links.add(&m.cfg, m.faults)
	dialing, listening := link.conns(netip.AddrPortFrom(from, m.freePort()), to)
	m.mu.Unlock()
	link.announce(&m.cfg)
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.listeners[to]; l != nil {
		select {
		case l.conns <- listening:
			return dialing, nil
		default: // the backlog is full
		}
	}
	link.kill()
	m.faults.Refused.Add(1)
	return nil, syscall.ECONNREFUSED
}

// Links returns the connections that have not ended, the oldest first.
func (m *Memory) Links() []*Link {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.links.alive()
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Close implements net.Listener. Connections that wait for Accept are reset.
func (l *listener) Close() error {
	err := error(&net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed})
	l.once.Do(func() {
		err = nil
		close(l.closed)
		l.memory.mu.Lock()
		defer l.memory.mu.Unlock()
		delete(l.memory.listeners, l.addr)
		for len(l.conns) > 0 {
			select {
			case c := <-l.conns:
				c.(*conn).reset()
			default: // Accept was faster
			}
		}
	})
	return err
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.addr) }

// linkList has the connections of a network. Its owner locks it.
type linkList struct {
	made  int
	links []*Link
}

func (ls *linkList) add(cfg *Config, faults *Counters) *Link {
	ls.links = ls.alive()
	l := newLink(ls.made, cfg, faults)
	ls.made++
	ls.links = append(ls.links, l)
	return l
}

// alive returns the connections that have not ended.
func (ls *linkList) alive() (alive []*Link) {
	for _, l := range ls.links {
		if !l.over() {
			alive = append(alive, l)
		}
	}
	return alive
}

// over reports whether both ends are gone, so that nothing can pass any more.
func (l *Link) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[DialingEnd].gone != nil && l.ends[ListeningEnd].gone != nil
}
