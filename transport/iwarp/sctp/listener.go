package sctp

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// maxPending is how many sessions may wait for Accept (RFC 5043 section 6.4).
const maxPending = 128

// Listener accepts associations, and the sessions that peers ask for on them.
type Listener struct {
	cfg    *Config
	socket *socket
	addr   Addr
	shares *fair.Shares
	ready  chan *Conn
	over   chan struct{}

	mu     sync.Mutex // guards what follows
	all    map[*association]struct{}
	closed bool
}

var _ net.Listener = (*Listener)(nil)

// Listen listens at "host:port" with an SCTP port; port 0 means any. It fails with an error that
// wraps ErrConfig if cfg is wrong, or with that of the network.
func Listen(ctx context.Context, addr string, cfg Config) (*Listener, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	at, err := resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	conn, err := listening(ctx, netip.AddrPortFrom(at.Addr(), uint16(max(c.UDPPort, 0))))
	if err != nil {
		return nil, err
	}
	port := at.Port()
	if port == 0 {
		port = uint16(49152 + random()%(1<<14))
	}
	return newListener(c, conn, port), nil
}

// newListener returns a Listener at an SCTP port, whose packets conn carries.
func newListener(c *Config, conn packetConn, port uint16) *Listener {
	udp := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	l := &Listener{
		cfg: c, addr: Addr{udp.Addr().Unmap(), port, udp.Port()},
		shares: fair.New(int64(c.MaxAssociations)),
		ready:  make(chan *Conn, maxPending), over: make(chan struct{}),
		all: make(map[*association]struct{}),
	}
	l.socket = newSocket(c, conn)
	l.socket.port, l.socket.opened = port, l.opened
	l.socket.admits = func(a netip.Addr, again bool) bool {
		return (c.Admit == nil || c.Admit(a)) && (again || l.shares.Fits(hostOf(a), 1))
	}
	go l.socket.run()
	return l
}

func hostOf(a netip.Addr) peerhost.Host { return peerhost.Of(Addr{IP: a}) }

// Addr returns the Addr listened on.
func (l *Listener) Addr() net.Addr { return l.addr }

// Accept waits for a session that a peer asks for. It returns a *Conn whose request has not been
// read yet.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.over:
		return nil, &net.OpError{Op: "accept", Net: "sctp", Addr: l.addr, Err: net.ErrClosed}
	}
}

// Close stops listening. Sessions that Accept has returned stay; others end. Associations stay
// until their last session has ended.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.over)
	for {
		select {
		case c := <-l.ready:
			c.Close()
			continue
		default:
		}
		break
	}
	l.socket.mu.Lock()
	l.socket.deaf = true
	l.socket.mu.Unlock()
	var all []*association
	for a := range l.all {
		all = append(all, a)
	}
	l.mu.Unlock()
	for _, a := range all {
		a.drain()
	}
	if len(all) == 0 {
		l.socket.close()
	}
	return nil
}

// opened makes an association with a peer that has proven its address. One that is made again has
// the place of its predecessor, which vacate gives back.
func (l *Listener) opened(link *link, c *cookie, vacate func()) {
	if vacate == nil {
		host := hostOf(c.from.Addr())
		if !l.shares.Take(host, 1) {
			link.refuse(causeOutOfResource, errNoRoom)
			return
		}
		vacate = func() { l.shares.Give(host, 1) }
	}
	link.occupy(vacate)
	link.reader = fair.ThisProcess.Join(link.host)
	p, err := associate(link, c.ours, c.theirs)
	if err != nil {
		return
	}
	local := l.addr
	if at := link.path().local; at.IsValid() {
		local.IP = at
	}
	remote := Addr{c.from.Addr(), c.src, c.from.Port()}
	var a *association
	made := make(chan struct{})
	a = newAssociation(l.cfg, p, local, remote, l.offer, func() {
		<-made
		l.mu.Lock()
		delete(l.all, a)
		last := l.closed && len(l.all) == 0
		l.mu.Unlock()
		if last {
			l.socket.close()
		}
	})
	l.mu.Lock()
	l.all[a] = struct{}{}
	closed := l.closed
	l.mu.Unlock()
	close(made)
	if closed {
		a.drain()
	}
}

// offer hands a session to Accept. It reports false if there is no room.
func (l *Listener) offer(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	select {
	case l.ready <- c:
		return true
	default:
		return false
	}
}
