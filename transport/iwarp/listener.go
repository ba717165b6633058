package iwarp

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// After an error that may pass, such as a lack of file descriptors, a listener pauses, each time
// twice as long.
const (
	acceptPauseMin = 10 * time.Millisecond
	acceptPauseMax = time.Second
)

// Listener accepts iWARP peers, over TCP or over the listener given to NewListener.
type Listener struct {
	cfg    Config
	below  net.Listener
	ready  chan *request // has room for all pending requests
	over   chan struct{} // closed by Close
	holder *holder

	mu      sync.Mutex // guards what follows
	silent  []*silent  // the oldest first
	waiting int        // requests waiting for Accept
	closed  bool

	group sync.WaitGroup // of the goroutines
}

// silent is a connection in its startup.
type silent struct {
	net.Conn
	host peerhost.Host
}

var _ transport.Listener = (*Listener)(nil)

// Listen listens on a TCP address, "host:port". If cfg is invalid, it fails before it listens, with
// an error that wraps mpa.ErrConfig.
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
	return newListener(l, cfg), nil
}

// NewListener accepts connections from below. It owns below from now on, unless it fails, which it
// does for the same reasons as Listen. Config.Control is not called.
//
// A connection may be anything that carries a stream of bytes: TLS, a tunnel, a test's pipe. It
// must meet these conditions:
//
//   - A deadline ends a pending Read or Write, even if the deadline is already in the past, with an
//     error that wraps os.ErrDeadlineExceeded. Read works again after a new deadline. Write need
//     not work again; for TLS it does not.
//   - CloseWrite, as of TCP and TLS, is needed for an end at which the peer gets all that was sent.
//     Without it, the connection is closed without waiting for the peer, unless a Terminate message
//     was sent last.
//
// Only a *net.TCPConn, or what package trace makes of one, is used as TCP: by system calls that
// gather, scatter and do not block, with payload sent from its place and received into its place.
// Other connections cost copies and a goroutine that writes. They also differ in these points:
//
//   - A peer has stalled if it does not take the bytes of one Write within five quarters of
//     Config.StallTimeout. One Write has 64 KiB, or less if a peer may take longer for so much.
//   - If the end of the connection interrupts a Write, a Terminate message is lost.
//   - If a peer leaves while its message waits for memory, this is noticed at once only if no more
//     than 4 KiB came after that message; otherwise when it gets memory.
func NewListener(below net.Listener, cfg Config) (*Listener, error) {
	cfg, err := cfg.forListener()
	if err != nil {
		return nil, opError("listen", nil, err)
	}
	return newListener(below, cfg), nil
}

// newListener takes a Config from forListener.
func newListener(below net.Listener, cfg Config) *Listener {
	return newHolding(below, cfg, holdTime)
}

// newHolding is newListener with another holdTime.
func newHolding(below net.Listener, cfg Config, hold time.Duration) *Listener {
	l := &Listener{
		cfg:    cfg,
		below:  below,
		ready:  make(chan *request, cfg.MaxPending),
		over:   make(chan struct{}),
		holder: newHolder(hold, cfg.MaxPending/4),
	}
	l.group.Go(l.run)
	return l
}

// Addr returns the address listened on.
func (l *Listener) Addr() net.Addr { return l.below.Addr() }

// Accept waits for a peer that has sent its request.
func (l *Listener) Accept(ctx context.Context) (transport.Request, error) {
	r, err := transport.AwaitRequest(ctx, l.ready, l.over)
	if err != nil {
		return nil, opError("accept", nil, err)
	}
	l.mu.Lock()
	l.waiting--
	l.mu.Unlock()
	return r, nil
}

// Close stops listening. Established connections stay. Requests that Accept has not returned are
// closed.
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

// admit adds a connection to those in their startup, dropping another if there are too many. So
// silent connections keep nobody out, and a host that opens many displaces its own.
func (l *Listener) admit(conn *silent) bool {
	l.mu.Lock()
	var drop *silent
	switch {
	case l.closed:
		drop = conn
	case len(l.silent)+l.waiting < l.cfg.MaxPending:
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
		atomic.AddUint64(&l.cfg.Counters.stats.Dropped, 1)
	}
	drop.Close()
	return drop != conn
}

// foremost returns the index of the oldest connection of the host that has most; l.mu is held.
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
	case errors.Is(err, io.EOF): // not even a byte: somebody checks whether the port is open
		atomic.AddUint64(&l.cfg.Counters.stats.HandshakeFailures, 1)
		l.cfg.Logger.Debug("iwarp: connection setup failed", "peer", conn.RemoteAddr(), "err", err)
	case err != nil:
		atomic.AddUint64(&l.cfg.Counters.stats.HandshakeFailures, 1)
		first := l.cfg.fault(conn.RemoteAddr(), "connection setup failed", err)
		if !first && errors.Is(err, mpa.ErrNotMPA) {
			l.holder.hold(l.over)
		}
	default:
		return
	}
	conn.Close()
}
