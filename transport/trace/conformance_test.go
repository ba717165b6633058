package trace_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/internal/sctprig"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// below are connections that iWARP can be over, without a trace. Under the race detector the first
// is tried alone.
var below = []struct {
	name   string
	listen func(tb testing.TB) (net.Listener, trace.DialFunc)
}{
	{"TCP", func(tb testing.TB) (net.Listener, trace.DialFunc) {
		return listenTCP(tb), new(net.Dialer).DialContext
	}},
	{"TLS", func(tb testing.TB) (net.Listener, trace.DialFunc) {
		certs, err := testcert.New()
		if err != nil {
			tb.Fatal(err)
		}
		dialer := tls.Dialer{Config: certs.Client()}
		return tls.NewListener(listenTCP(tb), certs.Server()), dialer.DialContext
	}},
	{"tunnel", func(tb testing.TB) (net.Listener, trace.DialFunc) {
		return tunnels{listenTCP(tb)}, func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return tunnel{conn}, err
		}
	}},
}

func listenTCP(tb testing.TB) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// tunnel has no more than a net.Conn has to have.
type tunnel struct{ net.Conn }

type tunnels struct{ net.Listener }

func (l tunnels) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tunnel{conn}, nil
}

// TestConformance runs the suite of providers with both ends traced. The two traces must show the
// same streams of bytes, as far as both have them: an end that closes does not see what comes
// later.
func TestConformance(t *testing.T) {
	for _, b := range below[:belowTried] {
		t.Run(b.name, func(t *testing.T) {
			transporttest.Run(t, transporttest.Factory{
				New: func(tb testing.TB, o transporttest.Options) (transport.Listener,
					transport.Dialer, string) {
					w, files := twoWriters(tb)
					cfg := iwarp.Config{
						IRD: o.IRD, ORD: o.ORD, SendDepth: o.SendDepth, RecvDepth: o.RecvDepth, Logger: quiet,
					}
					under, dial := b.listen(tb)
					l, err := iwarp.NewListener(w[1].Listener(under), cfg)
					if err != nil {
						tb.Fatal(err)
					}
					d := iwarp.Dialer{Config: cfg, DialContext: w[0].DialContext(dial)}
					tb.Cleanup(func() {
						w[0].Close()
						w[1].Close()
						compare(tb.(*testing.T), files[0].Bytes(), files[1].Bytes())
					})
					return l, d, l.Addr().String()
				},
				UnusedAddr:    deadport.New(t, "127.0.0.1").String(),
				DialerFirst:   true,
				ReportsCauses: true,
			})
		})
	}
	t.Run("loopback", func(t *testing.T) {
		transporttest.Run(t, transporttest.Factory{
			New: func(tb testing.TB, o transporttest.Options) (transport.Listener,
				transport.Dialer, string) {
				w, files := twoWriters(tb)
				cfg := loopback.Config{IRD: o.IRD, ORD: o.ORD, SendDepth: o.SendDepth, RecvDepth: o.RecvDepth}
				fabric := loopback.New()
				w[0].Loopback(fabric)
				l, err := fabric.Listen("", cfg)
				if err != nil {
					tb.Fatal(err)
				}
				tb.Cleanup(func() {
					w[0].Close()
					for _, c := range connections(tb.(*testing.T), decode(tb.(*testing.T), files[0].Bytes())) {
						for from := range c.flows {
							_, rest := startup(tb.(*testing.T), c.flows[from].bytes)
							segments(tb.(*testing.T), rest)
						}
					}
				})
				return l, fabric.Dialer(cfg), l.Addr().String()
			},
			ReportsCauses: true,
		})
	})
}

// twoWriters returns Writers of as much as can be checked in a short time.
func twoWriters(tb testing.TB) (w [2]*trace.Writer, files [2]*bytes.Buffer) {
	for i := range w {
		files[i] = new(bytes.Buffer)
		var err error
		if w[i], err = trace.New(files[i], trace.Config{Max: 4 << 20}); err != nil {
			tb.Fatal(err)
		}
	}
	return w, files
}

// compare compares what two ends have seen of the same connections.
func compare(t *testing.T, dialing, listening []byte) {
	here, there := connections(t, decode(t, dialing)), connections(t, decode(t, listening))
	for _, a := range here {
		for _, b := range there {
			if a.ends != b.ends {
				continue
			}
			for from := range a.flows {
				p, q := a.flows[from].bytes, b.flows[from].bytes
				if n := min(len(p), len(q)); !bytes.Equal(p[:n], q[:n]) {
					t.Errorf("from %v: the ends have other bytes, %d and %d of them", a.ends[from], len(p), len(q))
				}
			}
		}
		if a.first == 1 {
			t.Errorf("%v: the answer comes before the request", a.ends)
		}
	}
}

// TestSCTP: each datagram that one end has sent, the other one has received. They are packets of
// SCTP over UDP.
func TestSCTP(t *testing.T) {
	w, file := newWriter(t)
	low := sctp.Config{Trace: w.Datagram, Logger: quiet}
	l, d := sctprig.Listen(t, iwarp.Config{Logger: quiet}, low)
	accepted := make(chan transport.Endpoint, 1)
	go func() {
		defer close(accepted)
		if req, err := l.Accept(context.Background()); err == nil {
			if ep, err := req.Accept(context.Background(), nil); err == nil {
				accepted <- ep
			}
		}
	}()
	ep, err := d.Dial(t.Context(), l.Addr().String(), transport.Private([]byte("private")))
	if err != nil {
		t.Fatal(err)
	}
	server := <-accepted
	ep.Close()
	for _, ep := range []transport.Endpoint{ep, server} {
		ep.Start(completions(nil))
		<-ep.Done()
	}
	l.Close()
	w.Close()
	packets := decode(t, file.Bytes())
	seen := make(map[string]int)
	for _, p := range packets {
		if !p.udp || p.src == p.dst || p.src.Addr() != p.dst.Addr() {
			t.Errorf("%+v", p)
		}
		seen[p.src.String()+string(p.payload)]++
	}
	twice := 0
	for _, n := range seen {
		if n%2 == 0 {
			twice++
		}
	}
	const initChunk, header = 1, 12
	if len(packets) < 8 || packets[0].payload[header] != initChunk || twice < 4 {
		t.Errorf("%d packets, of which %d were seen at both ends", len(packets), twice)
	}
}
