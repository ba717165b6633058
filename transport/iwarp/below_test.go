package iwarp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// lowerLayer is a kind of connection below iWARP other than TCP.
type lowerLayer struct {
	name   string
	listen func(tb testing.TB) (net.Listener, dialContext)
}

type dialContext func(ctx context.Context, network, addr string) (net.Conn, error)

// lowerLayers are connections whose Write waits for the peer to read, connections without
// CloseWrite, and connections that cannot Write again after a deadline has ended a Write.
var lowerLayers = []lowerLayer{
	{"pipe", listenPipe},
	{"tunnel", listenTunnel},
	{"TLS", listenTLS},
	{"Unix socket", listenUnix},
}

// TestConformanceBelow runs the suite over connections other than TCP. Under the race detector each
// kind is used in one model, in turn; unless in a soak, only every other kind.
func TestConformanceBelow(t *testing.T) {
	for i, b := range lowerLayers {
		for _, peerToPeer := range []bool{false, true} {
			name, cfg := "client-server", iwarp.Config{CRC: iwarp.CRCOff}
			if peerToPeer {
				name = "peer-to-peer, with CRC and markers"
				cfg = iwarp.Config{CRC: iwarp.CRCOn, Markers: mpa.MarkersOn, PeerToPeer: true}
			}
			if b.name == "pipe" && !peerToPeer {
				// Here the suite's first Write would wait for the peer to start; see
				// TestPipeClientServer.
				continue
			}
			if raceDetector && (!soak.On && i%2 > 0 || peerToPeer != (i%2 == 0)) {
				continue
			}
			t.Run(b.name+", "+name, func(t *testing.T) {
				transporttest.Run(t, transporttest.Factory{
					New: func(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
						cfg.IRD, cfg.ORD, cfg.SendDepth, cfg.RecvDepth = o.IRD, o.ORD, o.SendDepth, o.RecvDepth
						cfg.Logger = quiet
						l, d := b.open(tb, cfg)
						return l, d, l.Addr().String()
					},
					UnusedAddr:    b.unused(t),
					DialerFirst:   !cfg.PeerToPeer,
					PeerMustStart: b.name == "pipe", // it must receive the RTR
					ReportsCauses: true,
				})
			})
		}
	}
}

// listen returns a listener that only its owner closes.
func listen(tb testing.TB, network, addr string) net.Listener {
	tb.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// unused is an address where nobody listens, if addresses belong to the whole machine.
func (b *lowerLayer) unused(tb testing.TB) string {
	if b.name == "TLS" || b.name == "tunnel" {
		return deadport.New(tb, "127.0.0.1").String()
	}
	return ""
}

// open returns a listener, and a dialer that reaches it, both with cfg.
func (b *lowerLayer) open(tb testing.TB, cfg iwarp.Config) (*iwarp.Listener, iwarp.Dialer) {
	tb.Helper()
	under, dial := b.listen(tb)
	l, err := iwarp.NewListener(under, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l, iwarp.Dialer{Config: cfg, DialContext: dial}
}

// pipes is a listener whose connections are those of net.Pipe.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func listenPipe(testing.TB) (net.Listener, dialContext) {
	l := &pipes{conns: make(chan net.Conn), over: make(chan struct{})}
	return l, l.dial
}

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.over:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// tunnels is a listener whose connections have only the methods of net.Conn.
type tunnels struct{ net.Listener }

// tunnel is not comparable: a net.Conn need not be.
type tunnel struct {
	net.Conn
	_ []byte
}

func listenTunnel(tb testing.TB) (net.Listener, dialContext) {
	return tunnels{listen(tb, "tcp", "127.0.0.1:0")}, func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return tunnel{Conn: c}, nil
	}
}

func (l tunnels) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tunnel{Conn: c}, nil
}

func listenTLS(tb testing.TB) (net.Listener, dialContext) {
	certs, err := testcert.New()
	if err != nil {
		tb.Fatal(err)
	}
	return tls.NewListener(listen(tb, "tcp", "127.0.0.1:0"),
		certs.Server()), (&tls.Dialer{Config: certs.Client()}).DialContext
}

func listenUnix(tb testing.TB) (net.Listener, dialContext) {
	return listen(tb, "unix", filepath.Join(tb.TempDir(), "socket")), func(ctx context.Context, _, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", addr)
	}
}

// faulty is a listener whose first Accept fails, and whose errors are unknown ones.
type faulty struct {
	net.Listener
	failed bool
}

var errOdd = errors.New("an error of its own")

func (l *faulty) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, errOdd
	}
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, errOdd
	}
	return c, nil
}

// TestListenerErrors has a listener that logs an error and goes on. After Close it ends without a
// log line.
func TestListenerErrors(t *testing.T) {
	var log logbook
	cfg := iwarp.Config{NudgeAfter: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	l, err := iwarp.NewListener(&faulty{Listener: listen(t, "tcp", "127.0.0.1:0")}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(requestFrame(0x10, 2, clientServer)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := l.Accept(ctx); err != nil {
		t.Errorf("Accept: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	log.want(t, 1, "iwarp: accept", errOdd.Error())
}
