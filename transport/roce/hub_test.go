package roce

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// Hub is a network of any number of hosts that loses nothing. Hosts are devices of this package, or
// peers that a test plays packet by packet.
type Hub struct {
	t     testing.TB
	mu    sync.Mutex // guards what follows
	hosts map[netip.Addr]*network
	boxes map[netip.Addr]chan datagram
}

type datagram struct {
	from netip.AddrPort
	p    []byte
}

// boxLen is how many datagrams may wait for a host. Further ones are lost.
const boxLen = 1 << 14

// NewHub returns a network. At the end of the test it must be empty.
func NewHub(t testing.TB) *Hub {
	h := &Hub{t: t, hosts: make(map[netip.Addr]*network), boxes: make(map[netip.Addr]chan datagram)}
	t.Cleanup(h.empty)
	return h
}

// empty waits until all devices are closed.
func (h *Hub) empty() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ip, n := range h.hosts {
		h.mu.Unlock()
		hang.Until(h.t, ip.String()+" has a device left", func() bool { return n.count() == 0 })
		h.mu.Lock()
	}
}

func (n *network) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.devices)
}

// On returns c for connections of a host of the Hub.
func (h *Hub) On(ip netip.Addr, c Config) Config {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hosts[ip] == nil {
		h.hosts[ip] = h.host(ip)
	}
	c.network, c.Local = h.hosts[ip], ip
	return c
}

func (h *Hub) host(ip netip.Addr) *network {
	return &network{
		open: func(a netip.Addr) (socket, int, error) {
			if a != ip {
				return nil, 0, errors.New("not an address of this host")
			}
			return &hubSocket{h, ip, h.Box(ip), make(chan struct{})}, 1024, nil
		},
		route: func(netip.Addr) (netip.Addr, int, error) { return ip, 1024, nil },
		local: func() ([]netip.Addr, error) { return []netip.Addr{ip}, nil },
		portClosed: func(ctx context.Context, _, peer netip.Addr) bool {
			h.mu.Lock()
			closed := h.boxes[peer] == nil
			h.mu.Unlock()
			if !closed {
				<-ctx.Done()
			}
			return closed
		},
	}
}

// Box receives the datagrams for a host that a test plays.
func (h *Hub) Box(ip netip.Addr) chan datagram {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.boxes[ip] == nil {
		h.boxes[ip] = make(chan datagram, boxLen)
	}
	return h.boxes[ip]
}

// Send sends a datagram.
func (h *Hub) Send(from, to netip.AddrPort, p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.boxes[to.Addr()] <- datagram{from, append([]byte(nil), p...)}:
	default: // no receiver, or its buffer is full
	}
}

// Left counts what a host still holds: connections, queue pair numbers, and requests.
func (h *Hub) Left(ip netip.Addr) (conns, pairs, asked, ports int) {
	return h.hosts[ip].left(ip)
}

// Left is Hub.Left for a local address of this host.
func Left(ip netip.Addr) (conns, pairs, asked, ports int) { return system.left(ip) }

func (n *network) left(ip netip.Addr) (conns, pairs, asked, ports int) {
	n.mu.Lock()
	d := n.devices[ip]
	n.mu.Unlock()
	if d == nil {
		return 0, 0, 0, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns), len(d.pairs), len(d.asked), len(d.ports)
}

// SystemDevice reports whether this process has the port at a local address.
func SystemDevice(ip netip.Addr) bool {
	system.mu.Lock()
	defer system.mu.Unlock()
	return system.devices[ip] != nil
}

// hubSocket is a socket on a Hub.
type hubSocket struct {
	h    *Hub
	ip   netip.Addr
	box  chan datagram
	done chan struct{}
}

func (s *hubSocket) receive(b []byte) (n, size int, from netip.AddrPort, marked bool, err error) {
	select {
	case d := <-s.box:
		n = copy(b, d.p)
		return n, n, d.from, false, nil
	case <-s.done:
		return 0, 0, from, false, net.ErrClosed
	}
}

func (s *hubSocket) send(all []message, _ bool) int {
	for _, m := range all {
		for p := m.p; len(p) > 0; {
			n := min(m.size, len(p))
			s.h.Send(netip.AddrPortFrom(s.ip, UDPPort), m.to, p[:n])
			p = p[n:]
		}
	}
	return len(all)
}

func (s *hubSocket) segments() bool { return true }

func (s *hubSocket) close() {
	close(s.done)
	s.h.mu.Lock()
	delete(s.h.boxes, s.ip)
	s.h.mu.Unlock()
}

// Take takes the next datagram from a box. It fails the test if none comes for long.
func (h *Hub) Take(t testing.TB, ip netip.Addr) []byte {
	t.Helper()
	select {
	case d := <-h.Box(ip):
		return d.p
	case <-time.After(hang.Patience):
		t.Fatal("nothing comes")
		return nil
	}
}
