package faultnet

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Relay is a network of real TCP connections. It listens on 127.0.0.1, and forwards each connection
// to its target through a Link. Methods may be called concurrently.
//
// Sockets hold bytes, too, beside what a Way holds: those of the relay have buffers of 64 KiB. On
// Linux a reset arrives after the bytes sent before it, if the receiver's socket has room for them
// within a second. Elsewhere it may overtake some of them.
type Relay struct {
	cfg      Config
	target   string
	faults   *Counters
	listener net.Listener
	ctx      context.Context // ended by Close
	end      context.CancelFunc
	group    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	links  linkList
	closed bool
}

// NewRelay starts a relay to a TCP address. The target need not exist yet: connections that cannot
// be forwarded are reset.
func NewRelay(target string, cfg Config) (*Relay, error) {
	cfg.ways(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{cfg: cfg, target: target, faults: cfg.counters(), listener: l}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.group.Go(r.accept)
	return r, nil
}

// Addr returns the address where the relay listens, as "host:port".
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Links returns the connections that have not ended, the oldest first.
func (r *Relay) Links() []*Link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.links.alive()
}

// Close resets all connections and waits for their end.
func (r *Relay) Close() error {
	err := r.listener.Close()
	r.end()
	r.mu.Lock()
	r.closed = true
	for _, l := range r.links.links {
		l.kill()
	}
	r.mu.Unlock()
	r.group.Wait()
	return err
}

// kill ends both ends of a link.
func (l *Link) kill() {
	l.finish(DialingEnd, RST, net.ErrClosed)
	l.finish(ListeningEnd, RST, net.ErrClosed)
}

func (r *Relay) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			if r.ctx.Err() != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // for example out of file descriptors
			continue
		}
		r.group.Go(func() { r.pass(c.(*net.TCPConn)) })
	}
}

// pass forwards a connection until it has ended.
func (r *Relay) pass(dialing *net.TCPConn) {
	defer dialing.Close()
	c, err := new(net.Dialer).DialContext(r.ctx, "tcp", r.target)
	if err != nil {
		r.faults.Refused.Add(1)
		dialing.SetLinger(0)
		return
	}
	listening := c.(*net.TCPConn)
	defer listening.Close()
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	link := r.links.add(&r.cfg, r.faults)
	r.mu.Unlock()
	link.announce(&r.cfg)
	a, b := link.conns(netip.AddrPort{}, netip.AddrPort{})
	var pumps sync.WaitGroup
	for _, x := range []struct {
		conn   *conn
		socket *net.TCPConn
	}{{a, dialing}, {b, listening}} {
		// Either fails if the socket has ended; the pumps notice that.
		_ = x.socket.SetReadBuffer(socketBuffer)
		_ = x.socket.SetWriteBuffer(socketBuffer)
		allIn, allOut := make(chan struct{}), make(chan struct{})
		pumps.Go(func() {
			refused := pumpIn(x.conn, x.socket)
			close(allIn)
			if refused {
				<-allOut // first forward what was sent to the peer before
				abort(x.socket)
			}
		})
		pumps.Go(func() {
			defer close(allOut)
			if pumpOut(x.conn, x.socket, allIn) == RST {
				r.drain(x.socket)
				abort(x.socket)
			}
		})
	}
	pumps.Wait()
	link.kill()
}

// pumpIn forwards what a socket receives to its Link. It reports whether the Link refused that.
func pumpIn(c *conn, socket *net.TCPConn) (refused bool) {
	b := make([]byte, DefaultBuffer)
	for {
		n, err := socket.Read(b)
		if _, werr := c.Write(b[:n]); werr != nil {
			return true
		}
		if err == io.EOF {
			_ = c.CloseWrite()
			return false
		}
		if err != nil {
			c.reset()
			return false
		}
	}
}

// pumpOut sends on a socket what arrives from its Link, and returns how that ended. The other pump
// of the socket closes allIn.
func pumpOut(c *conn, socket *net.TCPConn, allIn <-chan struct{}) Ending {
	b := make([]byte, DefaultBuffer)
	for {
		n, err := c.Read(b)
		if _, werr := socket.Write(b[:n]); werr != nil {
			c.link.deafen(c.end)
			<-allIn // first forward what the peer has sent before
			c.reset()
			return closing
		}
		if err == io.EOF {
			_ = socket.CloseWrite() // fails if the socket is reset, which the other pump notices
			if c.link.awaitReset(c.end) {
				return RST
			}
			return FIN
		}
		if err != nil {
			return RST
		}
	}
}

// socketBuffer is the SO_RCVBUF and SO_SNDBUF of the relay's sockets in bytes. Smaller ones would
// be slow with segments as long as those on 127.0.0.1.
const socketBuffer = 64 << 10

// drain waits until the peer of a socket has got what was sent, because a reset would overtake it.
// It gives up after a second.
func (r *Relay) drain(socket *net.TCPConn) {
	for range 1000 {
		if r.ctx.Err() != nil || unsent(socket) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// abort resets a socket.
func abort(socket *net.TCPConn) {
	socket.SetLinger(0)
	socket.Close()
}
