//go:build interop

package sctp

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
)

// relay carries UDP between the two ends, and records it.
type relay struct {
	front, back *net.UDPConn // to the end that connects, and to the one that listens
	forward     func(datagram) []datagram

	mu     sync.Mutex // guards what follows
	client *net.UDPAddr
	seen   []datagram // in the order of arrival
}

// datagram is a datagram that passes a relay.
type datagram struct {
	FromClient bool // from the end that connects
	Payload    []byte
}

// startRelay starts a relay to the listening end at a port of 127.0.0.1. It sends what forward
// returns in place of each datagram; with a nil forward it sends all. forward is not called
// concurrently.
func startRelay(t *testing.T, to int, forward func(datagram) []datagram) *relay {
	t.Helper()
	if forward == nil {
		forward = func(d datagram) []datagram { return []datagram{d} }
	}
	r := &relay{forward: forward}
	loopback := net.IPv4(127, 0, 0, 1)
	var err error
	if r.front, err = net.ListenUDP("udp4", &net.UDPAddr{IP: loopback}); err != nil {
		t.Fatal(err)
	}
	r.back, err = net.DialUDP("udp4", nil, &net.UDPAddr{IP: loopback, Port: to})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { r.pump(r.front, true) })
	done.Go(func() { r.pump(r.back, false) })
	t.Cleanup(func() {
		r.front.Close()
		r.back.Close()
		done.Wait()
	})
	return r
}

// port returns the port that stands for the listening end.
func (r *relay) port() int { return r.front.LocalAddr().(*net.UDPAddr).Port }

// pump forwards the datagrams of one end, until its socket is closed.
func (r *relay) pump(from *net.UDPConn, fromClient bool) {
	buf := make([]byte, 1<<16)
	for {
		n, addr, err := from.ReadFromUDP(buf)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // the end that listens is gone: ICMP says so
		}
		r.pass(datagram{fromClient, slices.Clone(buf[:n])}, addr)
	}
}

// pass handles one datagram. SCTP retransmits what is lost.
func (r *relay) pass(d datagram, from *net.UDPAddr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.FromClient {
		r.client = from
	}
	r.seen = append(r.seen, d)
	for _, d := range r.forward(d) {
		if d.FromClient {
			r.back.Write(d.Payload)
		} else {
			r.front.WriteToUDP(d.Payload, r.client)
		}
	}
}

// datagrams returns the datagrams seen so far.
func (r *relay) datagrams() []datagram {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}
