package rpcbind_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// listenRDMA serves s over iWARP until the test ends, and returns the address.
func listenRDMA(t *testing.T, host string, s *oncrpc.Server) netip.AddrPort {
	t.Helper()
	l, err := iwarp.Listen(t.Context(), net.JoinHostPort(host, "0"), iwarp.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// listenTCP does the same over TCP.
func listenTCP(t *testing.T, host string, s *oncrpc.Server) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet}) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// rdmaAt is a place for an rpcbind over RDMA, and tcpAt one over TCP.
func rdmaAt(at netip.AddrPort) rpcbind.Place {
	return rpcbind.Place{Name: "RDMA port " + at.String(), Dial: func(ctx context.Context) (oncrpc.Transport, error) {
		c, err := rpcrdma.Dial(ctx, iwarp.Dialer{Config: iwarp.Config{Logger: quiet}}, at.String(), rpcrdma.Config{Logger: quiet})
		if err != nil {
			return nil, err
		}
		return c, nil
	}}
}

func tcpAt(at netip.AddrPort) rpcbind.Place {
	return rpcbind.Place{Name: "TCP port " + at.String(), Dial: func(ctx context.Context) (oncrpc.Transport, error) {
		c, err := recordmark.Dial(ctx, at.String(),
			recordmark.Config{EnforceMaxReply: true, Logger: quiet})
		if err != nil {
			return nil, err
		}
		return c, nil
	}}
}

// nullServer returns a server of a program that has only procedure 0.
func nullServer(program, version uint32) *oncrpc.Server {
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(oncrpc.Program{Name: "NULL", Number: program, Version: version})
	return s
}

// A service over RDMA is found through either place, over IPv4 and IPv6, and answers at the port
// found.
func TestFind(t *testing.T) {
	const program, version = 400123, 7
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			if host == "::1" {
				needIPv6(t)
			}
			at := listenRDMA(t, host, nullServer(program, version))
			everywhere := netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
			for name, mappings := range map[string][]rpcbind.Mapping{
				"one address":   rpcbind.Mappings(program, version, rpcbind.NetidRDMA, at),
				"all addresses": rpcbind.Mappings(program, version, rpcbind.NetidRDMA, everywhere),
			} {
				tcp, rdma, empty := listenTCP(t, host, serverOf(mappings...)), listenRDMA(t, host, serverOf(mappings...)), listenTCP(t, host, serverOf())
				other := listenRDMA(t, host, nullServer(program, version))
				none := deadport.New(t, host)
				for way, places := range map[string][]rpcbind.Place{
					"over TCP":                  {tcpAt(tcp)},
					"over RDMA":                 {rdmaAt(rdma)},
					"over RDMA, without TCP":    {tcpAt(none), rdmaAt(rdma)},
					"over RDMA, not registered": {tcpAt(empty), rdmaAt(rdma)},
					"over RDMA, at one port":    {tcpAt(rdma), rdmaAt(rdma)},
					"over TCP, at one port":     {tcpAt(tcp), rdmaAt(tcp)},
					"over TCP, without RDMA":    {rdmaAt(none), tcpAt(tcp)},
					"not where no rpcbind is":   {rdmaAt(other), rdmaAt(rdma)},
				} {
					port, err := rpcbind.FindPort(t.Context(), program, version, rpcbind.NetidRDMA, places...)
					if err != nil || port != at.Port() {
						t.Errorf("%s, %s: got %d, %v, want %d", name, way, port, err, at.Port())
					}
				}
			}
			conn, err := rdmaAt(at).Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				conn.Close()
				<-conn.Done()
			}()
			if err := oncrpc.NewClient(conn, program, version, oncrpc.AuthNone()).Call(t.Context(), 0, nil, nil); err != nil {
				t.Errorf("what was found does not answer: %v", err)
			}
		})
	}
}

// Over RDMA, GETADDR returns the whole universal address, of the family of the connection, and it
// can be dialled.
func TestFindAddr(t *testing.T) {
	for _, tt := range []struct{ host, netid string }{{"127.0.0.1", "rdma"}, {"::1", "rdma6"}} {
		t.Run(tt.netid, func(t *testing.T) {
			if tt.host == "::1" {
				needIPv6(t)
			}
			at := listenRDMA(t, tt.host, nullServer(400123, 7))
			conn, err := rdmaAt(listenRDMA(t, tt.host, serverOf(rpcbind.Mappings(400123, 7, rpcbind.NetidRDMA,
				netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port()))...))).Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c := rpcbind.NewClient(conn)
			defer func() {
				c.Close()
				<-conn.Done()
			}()
			for _, netid := range []string{"", tt.netid} {
				addr, err := c.GetAddr(t.Context(), rpcbind.Mapping{Program: 400123, Version: 7, Netid: netid})
				if err != nil || addr != rpcbind.UniversalAddr(at) {
					t.Errorf("netid %q: got %q, %v, want %q", netid, addr, err, rpcbind.UniversalAddr(at))
				}
				got, err := rpcbind.ParseUniversalAddr(addr)
				if err != nil {
					t.Fatal(err)
				}
				found, err := rdmaAt(got).Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := oncrpc.NewClient(found, 400123, 7, oncrpc.AuthNone()).Call(t.Context(), 0, nil, nil); err != nil {
					t.Error(err)
				}
				found.Close()
				<-found.Done()
			}
		})
	}
}

// The error gives the reason for each place and wraps the causes.
func TestFindNowhere(t *testing.T) {
	none, empty := deadport.New(t, "127.0.0.1"), listenTCP(t, "127.0.0.1", serverOf())
	old, other := listenTCP(t, "127.0.0.1", serverOfVersions("2")), listenRDMA(t, "127.0.0.1", nullServer(400123, 7))
	_, err := net.Dial("tcp", none.String())
	refused := new(os.SyscallError)
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	at := func(p netip.AddrPort) string { return "127.0.0.1:" + strconv.Itoa(int(p.Port())) }
	_, err = rpcbind.FindPort(t.Context(), 100003, 3, rpcbind.NetidRDMA, tcpAt(none), tcpAt(empty), rdmaAt(none), tcpAt(old), rdmaAt(other))
	want := "no port of 100003.3 rdma: TCP port " + at(none) + ": " + refused.Err.Error() + "; TCP port " + at(empty) + ": not registered; " +
		"RDMA port " + at(none) + ": " + refused.Err.Error() + "; TCP port " + at(old) + ": PROG_MISMATCH: the server has versions 2 to 2; " +
		"RDMA port " + at(other) + ": PROG_UNAVAIL"
	var find *rpcbind.FindError
	if err == nil || err.Error() != want || !errors.As(err, &find) || len(find.Tried) != 5 || !errors.Is(err, rpcbind.ErrNotRegistered) ||
		!errors.Is(err, refused.Err) {
		t.Errorf("got\n%v, want\n%s", err, want)
	}
	_, err = rpcbind.FindPort(t.Context(), 100003, 3, rpcbind.NetidRDMA)
	if want := "no port of 100003.3 rdma: there is nowhere to ask"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// fakePlace is a place that fails after a while, or when it is cancelled.
func fakePlace(name string, after time.Duration, err error) rpcbind.Place {
	return rpcbind.Place{Name: name, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(after):
			return nil, err
		}
	}}
}

// never is longer than any place is asked.
const never = time.Hour

// The end of the context ends the search while a place is being asked.
func TestFindCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hangs := rpcbind.Place{Name: "first", Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		second := rpcbind.Place{Name: "second", Dial: func(context.Context) (oncrpc.Transport, error) {
			t.Error("the second place is asked")
			return nil, errors.New("second")
		}}
		if _, err := rpcbind.FindPort(ctx, 100003, 3, rpcbind.NetidRDMA, hangs, second); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
}

// Places that never answer are abandoned, each after its own time, and do not keep others from
// being asked. The error lists them in order.
func TestFindHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := rpcbind.FindPort(t.Context(), 100003, 3, rpcbind.NetidRDMA, fakePlace("first", never, nil), fakePlace("second", never, nil),
			fakePlace("third", time.Second, errors.New("broken")), fakePlace("fourth", 0, errors.New("gone")))
		const want = "no port of 100003.3 rdma: first: no answer; second: no answer; third: broken; fourth: gone"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// A place is asked when the previous one has failed or has not answered for a while.
func TestFindOrder(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name  string
		after [3]time.Duration // when places fail
		want  [3]time.Duration // when they are asked
	}{
		{"failing at once", [3]time.Duration{0, 0, 0}, [3]time.Duration{0, 0, 0}},
		{"failing in time", [3]time.Duration{30 * time.Millisecond, 40 * time.Millisecond, 0}, [3]time.Duration{0, 30 * time.Millisecond, 70 * time.Millisecond}},
		{"hanging", [3]time.Duration{never, never, never}, [3]time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}},
		{"the first failing late", [3]time.Duration{150 * time.Millisecond, never, 0}, [3]time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}},
		{"the second failing at once", [3]time.Duration{never, 0, 0}, [3]time.Duration{0, 100 * time.Millisecond, 100 * time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var got [3]time.Duration
				var places []rpcbind.Place
				for i := range got {
					p := fakePlace("place", tt.after[i], broken)
					dial := p.Dial
					p.Dial = func(ctx context.Context) (oncrpc.Transport, error) {
						got[i] = time.Since(begin)
						return dial(ctx)
					}
					places = append(places, p)
				}
				if port, err := rpcbind.FindPort(t.Context(), 100003, 3, rpcbind.NetidRDMA, places...); err == nil {
					t.Errorf("found at %d", port)
				}
				if got != tt.want {
					t.Errorf("asked at %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// The first success ends the search. Pending places are cancelled before FindPort returns, and
// later ones are not asked.
func TestFindFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		hangs := rpcbind.Place{Name: "first", Dial: func(ctx context.Context) (oncrpc.Transport, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // which the end takes
			ended = true
			return nil, ctx.Err()
		}}
		knows := rpcbind.Place{Name: "second", Dial: func(context.Context) (oncrpc.Transport, error) {
			here, there := net.Pipe()
			server, err := recordmark.NewConn(there, recordmark.Config{Logger: quiet})
			if err != nil {
				return nil, err
			}
			server.Serve(serverOf(rpcbind.Mapping{Program: 100003, Version: 3, Netid: rpcbind.NetidRDMA, Addr: "192.0.2.1.78.81"}))
			return recordmark.NewConn(here, recordmark.Config{EnforceMaxReply: true, Logger: quiet})
		}}
		third := rpcbind.Place{Name: "third", Dial: func(context.Context) (oncrpc.Transport, error) {
			t.Error("the third place is asked")
			return nil, errors.New("third")
		}}
		port, err := rpcbind.FindPort(t.Context(), 100003, 3, rpcbind.NetidRDMA, hangs, knows, third)
		if err != nil || port != 20049 {
			t.Errorf("got %d, %v, want 20049", port, err)
		}
		if !ended {
			t.Error("the first place is still being asked")
		}
	})
}
