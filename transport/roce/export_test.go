package roce

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// Host is a host in a network of two, for tests. The network passes packets like UDP without its
// checksum.
type Host struct {
	IP      netip.Addr
	network *network
}

// TwoHosts returns two hosts, and the faulty network between them. It ends with the test.
func TwoHosts(tb testing.TB, cfg faultnet.Config) (a, b Host, between *faultnet.Frames) {
	wires := [2]*wire{newWire(), newWire()}
	between = faultnet.NewFrames(wires[0], wires[1], cfg)
	tb.Cleanup(func() { between.Close() })
	a, b = Host{IP: netip.MustParseAddr("192.0.2.1")}, Host{IP: netip.MustParseAddr("192.0.2.2")}
	a.network = wires[0].network(a.IP, b.IP)
	b.network = wires[1].network(b.IP, a.IP)
	return a, b, between
}

// On returns c for connections of a host.
func (c Config) On(h Host) Config {
	c.network, c.Local = h.network, h.IP
	return c
}

// Send sends a packet from a host without a device.
func (h Host) Send(p []byte) {
	s, _, err := h.network.open(h.IP)
	if err == nil {
		s.send([]message{{p: p, size: len(p)}}, true)
	}
}

// wire is a host's end of the network: a device of faultnet.Frames.
type wire struct {
	out, in chan []byte
	done    chan struct{}
	close   func()
}

func newWire() *wire {
	w := &wire{
		out: make(chan []byte, 4096), in: make(chan []byte, 4096), done: make(chan struct{}),
	}
	w.close = sync.OnceFunc(func() { close(w.done) })
	return w
}

func (w *wire) Read(p []byte) (int, error) {
	select {
	case b := <-w.out:
		return copy(p, b), nil
	case <-w.done:
		return 0, net.ErrClosed
	}
}

func (w *wire) Write(p []byte) (int, error) {
	select {
	case w.in <- append([]byte(nil), p...):
	default: // the socket's buffer is full
	}
	return len(p), nil
}

func (w *wire) Close() error {
	w.close()
	return nil
}

func (w *wire) network(local, peer netip.Addr) *network {
	return &network{
		open: func(a netip.Addr) (socket, int, error) {
			if a != local {
				return nil, 0, errors.New("not an address of this host")
			}
			s := &wireSocket{w: w, peer: netip.AddrPortFrom(peer, UDPPort), done: make(chan struct{})}
			return s, 1024, nil
		},
		route: func(netip.Addr) (netip.Addr, int, error) { return local, 1024, nil },
		local: func() ([]netip.Addr, error) { return []netip.Addr{local}, nil },
		portClosed: func(ctx context.Context, _, _ netip.Addr) bool {
			<-ctx.Done()
			return false
		},
	}
}

// wireSocket is a socket on a wire.
type wireSocket struct {
	w    *wire
	peer netip.AddrPort
	done chan struct{}
}

func (s *wireSocket) receive(b []byte) (n, size int, from netip.AddrPort, marked bool, err error) {
	select {
	case p := <-s.w.in:
		n = copy(b, p)
		return n, n, s.peer, false, nil
	case <-s.done:
		return 0, 0, from, false, net.ErrClosed
	}
}

func (s *wireSocket) send(all []message, _ bool) int {
	for _, m := range all {
		for p := m.p; len(p) > 0; {
			n := min(m.size, len(p))
			select {
			case s.w.out <- append([]byte(nil), p[:n]...):
			default: // lost
			}
			p = p[n:]
		}
	}
	return len(all)
}

func (s *wireSocket) segments() bool { return true }
func (s *wireSocket) close()         { close(s.done) }
