package faultnet

import (
	"net"
	"net/netip"
	"sync"
)

// Datagrams is a network of UDP datagrams. It listens on 127.0.0.1 and forwards datagrams to its
// target, with one socket for each client address. Answers of the target go back to that client.
// All clients share the two directions. Methods may be called concurrently.
//
// Flipped bits reach the receiver, because the kernel computes a new checksum.
type Datagrams struct {
	packets
	faults   *Counters
	listener *net.UDPConn
	target   netip.AddrPort

	mu      sync.Mutex // guards what follows
	sockets map[netip.AddrPort]*net.UDPConn
	closed  bool
}

// maxDatagram is the most bytes of a UDP datagram.
const maxDatagram = 65535

// NewDatagrams starts a network that forwards to a UDP address.
func NewDatagrams(target string, cfg Config) (*Datagrams, error) {
	to, err := net.ResolveUDPAddr("udp", target)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	d := &Datagrams{
		faults:   cfg.counters(),
		listener: listener,
		target:   to.AddrPort(),
		sockets:  make(map[netip.AddrPort]*net.UDPConn),
	}
	d.start(&cfg, d.faults)
	d.group.Go(d.receive)
	return d, nil
}

// Addr returns the address that clients send to, as "host:port".
func (d *Datagrams) Addr() string { return d.listener.LocalAddr().String() }

// Close ends the network. Datagrams under way are lost.
func (d *Datagrams) Close() error {
	err := d.listener.Close()
	d.mu.Lock()
	d.closed = true
	for _, s := range d.sockets {
		s.Close()
	}
	d.mu.Unlock()
	d.closeLanes()
	d.group.Wait()
	return err
}

// receive forwards datagrams of the clients.
func (d *Datagrams) receive() {
	b := make([]byte, maxDatagram)
	for {
		n, from, err := d.listener.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		socket := d.socket(from)
		if socket == nil {
			continue
		}
		// Datagrams may be lost, so an error is ignored.
		d.lanes[Up].send(b[:n], func(p []byte) { _, _ = socket.Write(p) })
	}
}

// socket returns the socket for a client, or nil if there can be none.
func (d *Datagrams) socket(client netip.AddrPort) *net.UDPConn {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sockets[client]
	if s != nil || d.closed {
		return s
	}
	s, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(d.target))
	if err != nil {
		return nil
	}
	d.sockets[client] = s
	d.group.Go(func() { d.answer(s, client) })
	return s
}

// answer forwards the target's answers to a client.
func (d *Datagrams) answer(s *net.UDPConn, client netip.AddrPort) {
	b := make([]byte, maxDatagram)
	for {
		n, err := s.Read(b)
		switch {
		case err == nil:
			d.lanes[Down].send(b[:n], func(p []byte) {
				_, _ = d.listener.WriteToUDPAddrPort(p, client)
			})
		case d.over():
			return
		default: // the target's kernel says that nothing listens there now
			d.faults.Refused.Add(1)
		}
	}
}

func (d *Datagrams) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}
