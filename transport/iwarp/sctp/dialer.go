package sctp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
)

// Dialer opens sessions. Sessions with one address are streams of one association, and of another
// when that has none left.
type Dialer struct {
	cfg *Config

	mu           sync.Mutex // guards what follows
	associations map[netip.AddrPort][]*dialed
}

// dialed is an association, or an attempt to make one.
type dialed struct {
	done  chan struct{} // closed when the following fields are set
	assoc *association
	err   error
}

// NewDialer returns a Dialer. It fails with an error that wraps ErrConfig if cfg is wrong.
func NewDialer(cfg Config) (*Dialer, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if c.UDPPort < 0 {
		return nil, wrong("UDPPort", c.UDPPort, "0 to 65535")
	}
	return &Dialer{cfg: c, associations: make(map[netip.AddrPort][]*dialed)}, nil
}

// DialContext returns a new session, a *Conn, that the peer has not been asked for yet. The address
// is "host:port" with an SCTP port. It makes an association if none has a free stream. An
// association ends with its last session. Without a free UDP port the error wraps ErrNoPort. If
// association after association ends before it has a session, it is that of the last.
func (d *Dialer) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	to, err := resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	for tried, ended := 0, 0; ; {
		at, err := d.association(ctx, to, tried)
		if err != nil {
			return nil, err
		}
		c, err := at.assoc.open()
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, ErrNoStream):
			tried++
		default: // it ended meanwhile
			d.forget(to, at)
			if ended++; ended == maxEnded {
				return nil, err
			}
		}
	}
}

// maxEnded is how many associations DialContext finds ended before it gives up.
const maxEnded = 8

// association returns the i-th association with an address. If there are fewer, it makes one.
func (d *Dialer) association(ctx context.Context, to netip.AddrPort, i int) (*dialed, error) {
	for {
		d.mu.Lock()
		if all := d.associations[to]; i >= len(all) {
			at := &dialed{done: make(chan struct{})}
			d.associations[to] = append(all, at)
			d.mu.Unlock()
			defer close(at.done)
			forget := func() { d.forget(to, at) }
			if at.assoc, at.err = d.connect(ctx, to, forget); at.err != nil {
				forget()
			}
			return at, at.err
		}
		at := d.associations[to][i]
		d.mu.Unlock()
		select {
		case <-at.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if at.err == nil {
			return at, nil
		}
		// Another caller's attempt failed, perhaps because of its time limit. Try again.
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// forget removes an association that has ended.
func (d *Dialer) forget(to netip.AddrPort, at *dialed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.DeleteFunc(d.associations[to], func(one *dialed) bool { return one == at })
	if d.associations[to] = all; len(all) == 0 {
		delete(d.associations, to)
	}
}

// Close waits until associations without live sessions have ended, so that their peers need not
// find out by timeout. Associations with sessions stay. It waits no longer than ctx.
func (d *Dialer) Close(ctx context.Context) error {
	d.mu.Lock()
	var idle []*association
	for _, all := range d.associations {
		for _, at := range all {
			select {
			case <-at.done:
				if at.err == nil && at.assoc.idle() {
					idle = append(idle, at.assoc)
				}
			default:
			}
		}
	}
	d.mu.Unlock()
	for _, a := range idle {
		select {
		case <-a.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// connect makes an association. It calls ended when that has ended.
func (d *Dialer) connect(ctx context.Context, to netip.AddrPort, ended func()) (*association, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.SetupTimeout, ErrGone)
	defer cancel()
	udp := netip.AddrPortFrom(to.Addr(), uint16(d.cfg.UDPPort))
	var from *net.UDPAddr
	if d.cfg.Local.IsValid() {
		from = net.UDPAddrFromAddrPort(netip.AddrPortFrom(d.cfg.Local, 0))
	}
	conn, err := net.DialUDP("udp", from, net.UDPAddrFromAddrPort(udp))
	if err != nil {
		return nil, noPort(err)
	}
	s := newSocket(d.cfg, connected{conn, udp})
	go s.run()
	src := uint16(49152 + rand.IntN(1<<14)) // RFC 6335 section 6: the dynamic ports
	l, ours, theirs, err := s.connect(ctx, path{peer: udp}, src, to.Port())
	if err != nil {
		s.close()
		return nil, err
	}
	p, err := associate(l, ours, theirs)
	if err != nil {
		s.close()
		return nil, err
	}
	local := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	return newAssociation(d.cfg, p,
		Addr{local.Addr(), src, local.Port()}, Addr{to.Addr(), to.Port(), udp.Port()},
		nil, func() {
			ended()
			s.close()
		}), nil
}

// noPort makes an ErrNoPort of what the system says for want of a port: EADDRINUSE with
// Config.Local, and EAGAIN without it, though to try again at once is of no use.
func noPort(err error) error {
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: %w", ErrNoPort, err)
	}
	return err
}
