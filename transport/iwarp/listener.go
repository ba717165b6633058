package iwarp

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// maxPending is how many connections of a listener may be in their startup, or wait for Accept.
// Beyond it one in its startup makes room: of the host that has most of them, the oldest. So
// silent ones keep nobody out, and a host that makes many drives out its own.
const maxPending = 256

// A listener pauses after an error that may pass, like a lack of file descriptors, each time for
// twice as long.
const (
	acceptPauseMin = 10 * time.Millisecond
	acceptPauseMax = time.Second
)

// Listener accepts iWARP peers, over TCP or what NewListener was given.
type Listener struct {
	cfg    Config
	below  net.Listener
	ready  chan *request // has room for all that are pending
	over   chan struct{} // closed by Close
	holder *holder

	mu      sync.Mutex // guards what follows
	silent  []*silent  // the oldest first
	waiting int        // requests that wait for Accept
	closed  bool

	group sync.WaitGroup // of the goroutines
}

// silent is a connection in its startup.
type silent struct {
	net.Conn
	host peerhost.Host
}

var _ transport.Listener = (*Listener)(nil)

// Listen listens on a TCP address, "host:port". If something in cfg is unknown, out of range or
// contradicts itself, it has not listened, and its error wraps mpa.ErrConfig.
func Listen(ctx context.Context, addr string, cfg Config) (*Listener, error) {
	cfg, err := cfg.forListener()
	if err != nil {
		return nil, opError("listen", nil, err)
	}
	lc := net.ListenConfig{Control: cfg.Control}
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, opError("listen", nil, err)
	}
	return newListener(l, cfg, holdTime), nil
}

// NewListener takes connections from below, which it owns from now on, unless it fails, as Listen
// may. Config.Control is not called.
//
// A connection may be anything that carries a stream of bytes: TLS, a tunnel, a test's pipe. Its
// deadlines must work as net.Conn says. A deadline that is set, be it in the past, ends a Read or
// Write under way with an error that wraps os.ErrDeadlineExceeded, and Read works again when it is
// set anew. Write need not work again, as that of TLS does not. A peer has stalled that does not
// take what one Write was given within five quarters of Config.StallTimeout: 64 KiB, or less where
// it may take longer for so much. A Terminate message is lost where the end of the connection
// interrupts a Write. That a peer has gone whose message waits for memory is noticed if no more
// than 4 KiB came behind that, and else when it gets memory.
//
// A connection with CloseWrite, as those of TCP and TLS have it, ends such that the peer gets all
// that was sent. Any other is closed without waiting for the peer, unless a Terminate message was
// sent last.
//
// Only a *net.TCPConn is used as TCP, or what package trace makes of one: by system calls that
// gather, scatter and do not block, with payload sent from where it is and received to its place.
// All others cost copies, and a goroutine that writes.
func NewListener(below net.Listener, cfg Config) (*Listener, error) {
	cfg, err := cfg.forListener()
	if err != nil {
		return nil, opError("listen", nil, err)
	}
	return newListener(below, cfg, holdTime), nil
}

// newListener takes a Config of forListener.
func newListener(below net.Listener, cfg Config, hold time.Duration) *Listener {
	l := &Listener{
		cfg:    cfg,
		below:  below,
		ready:  make(chan *request, maxPending),
		over:   make(chan struct{}),
		holder: newHolder(hold),
	}
	l.group.Go(l.run)
	return l
}

// Addr is the address listened on.
func (l *Listener) Addr() net.Addr { return l.below.Addr() }

// Accept waits for a peer that has sent its request.
func (l *Listener) Accept(ctx context.Context) (transport.Request, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError("accept", nil, err)
	}
	select {
	case r := <-l.ready:
		l.mu.Lock()
		l.waiting--
		l.mu.Unlock()
		return r, nil
	case <-l.over:
		return nil, opError("accept", nil, net.ErrClosed)
	case <-ctx.Done():
		return nil, opError("accept", nil, ctx.Err())
	}
}

// Close ends listening. Connections stay, except for those that Accept has not returned.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.over)
	silent := l.silent
	l.silent = nil
	l.mu.Unlock()

	err := l.below.Close()
	for _, c := range silent {
		c.Close()
	}
	l.group.Wait()
	for {
		select {
		case r := <-l.ready:
			r.conn.Close()
		default:
			return err
		}
	}
}

// run accepts connections.
func (l *Listener) run() {
	pause := acceptPauseMin
	for {
		conn, err := l.below.Accept()
		switch {
		case err == nil:
			pause = acceptPauseMin
			if conn := (&silent{conn, peerhost.Of(conn.RemoteAddr())}); l.admit(conn) {
				l.group.Go(func() { l.startup(conn) })
			}
		case errors.Is(err, net.ErrClosed) || l.ended():
			return
		default:
			l.cfg.Logger.Warn("iwarp: accept", "err", err)
			select {
			case <-l.over:
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, acceptPauseMax)
		}
	}
}

// ended reports whether Close has been called.
func (l *Listener) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// admit takes a connection among those that are in their startup, if need be in place of another.
func (l *Listener) admit(conn *silent) bool {
	l.mu.Lock()
	var drop *silent
	switch {
	case l.closed:
		drop = conn
	case len(l.silent)+l.waiting < maxPending:
		l.silent = append(l.silent, conn)
	case len(l.silent) == 0:
		drop = conn
	default:
		l.silent = append(l.silent, conn)
		i := l.foremost()
		drop = l.silent[i]
		l.silent = slices.Delete(l.silent, i, i+1)
	}
	closed := l.closed
	l.mu.Unlock()
	if drop == nil {
		return true
	}
	if !closed {
		l.cfg.Counters.dropped.Add(1)
	}
	drop.Close()
	return drop != conn
}

// foremost returns the place of the oldest connection of the host that has most; l.mu is held.
func (l *Listener) foremost() (first int) {
	has := make(map[peerhost.Host]int)
	for _, c := range l.silent {
		has[c.host]++
	}
	for i, c := range l.silent {
		if has[c.host] > has[l.silent[first].host] {
			first = i
		}
	}
	return first
}

// startup reads the request of a connection.
func (l *Listener) startup(conn *silent) {
	conn.SetDeadline(time.Now().Add(l.cfg.HandshakeTimeout))
	r, err := mpa.ReadRequest(conn.Conn)
	l.mu.Lock()
	kept := false
	if i := slices.Index(l.silent, conn); i >= 0 {
		l.silent = slices.Delete(l.silent, i, i+1)
		kept = true
	}
	if kept && err == nil {
		l.waiting++
		l.ready <- &request{cfg: &l.cfg, conn: conn.Conn, mpa: r}
	}
	l.mu.Unlock()
	switch {
	case !kept: // dropped, or the listener is closed
	case errors.Is(err, io.EOF): // not even a byte: somebody looks whether there is a listener
		l.cfg.Counters.handshakeFailures.Add(1)
		l.cfg.Logger.Debug("iwarp: no connection", "peer", conn.RemoteAddr(), "err", err)
	case err != nil:
		l.cfg.Counters.handshakeFailures.Add(1)
		first := l.cfg.fault(conn.RemoteAddr(), "no connection", err)
		if !first && errors.Is(err, mpa.ErrNotMPA) {
			l.holder.hold(l.over)
		}
	default:
		return
	}
	conn.Close()
}
