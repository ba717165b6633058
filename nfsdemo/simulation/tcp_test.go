package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// dialTCP connects from a host, over TCP.
func dialTCP(
	ctx context.Context, net *faultnet.Memory, n int, addr string,
) (*recordmark.Conn, error) {
	host := netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + n)}).String()
	conn, err := net.Dialer(host)(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return recordmark.NewConn(conn, recordmark.Config{Logger: quiet})
}

// large is a program with large replies. It counts the bytes of replies that have not been sent.
type large struct{ held, most atomic.Int64 }

const (
	largeProgram = 400_002
	largeReply   = 1 << 20
)

func (l *large) program() oncrpc.Program {
	return oncrpc.Program{
		Name: "large", Number: largeProgram, Version: 1,
		Procedures: []oncrpc.Procedure{{}, {Handler: l.handle}},
	}
}

func (l *large) handle(_ context.Context, c *oncrpc.Call) error {
	n := l.held.Add(largeReply)
	for most := l.most.Load(); n > most && !l.most.CompareAndSwap(most, n); most = l.most.Load() {
	}
	c.Results.BulkBytes(make([]byte, largeReply), l)
	return nil
}

// Release is called when a reply has been sent.
func (l *large) Release() { l.held.Add(-largeReply) }

// largeResult is the result of a call of large.
type largeResult struct{}

func (*largeResult) UnmarshalXDR(d *xdr.Decoder) { d.Bulk(largeReply) }

// TestUnreadReplies has TCP clients whose links stop before their replies arrive. The pending
// replies stay within their memory limit.
func TestUnreadReplies(t *testing.T) {
	const (
		memory = 16 << 20
		conns  = 4
		calls  = 16 // on each
	)
	eachSeed(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		net := faultnet.NewMemory(faultnet.Config{
			Seed: seed,
			Up:   faultnet.Way{Delay: time.Millisecond},
			Down: faultnet.Way{Delay: time.Millisecond},
		})
		below, err := net.Listen(serverAddr)
		if err != nil {
			t.Fatal(err)
		}
		var l large
		s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
		if err := s.Handle(l.program()); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() {
			served <- recordmark.Serve(t.Context(), below, s,
				recordmark.Config{Logger: quiet, Memory: memory})
		}()
		var all sync.WaitGroup
		var clients []*recordmark.Conn
		for n := range conns {
			conn, err := dialTCP(t.Context(), net, n/2, serverAddr)
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, conn)
			c := oncrpc.NewClient(conn, largeProgram, 1, nil)
			for range calls {
				all.Go(func() {
					if err := c.Do(t.Context(), &oncrpc.Request{
						Procedure: 1, Reply: &largeResult{}, MaxReply: largeReply + 100,
					}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		for _, link := range net.Links() {
			link.Freeze(faultnet.Down)
		}
		time.Sleep(time.Duration(1+r.IntN(20)) * time.Second)
		for _, link := range net.Links() {
			link.Thaw(faultnet.Down)
		}
		all.Wait()
		// A connection always has room for one reply.
		if got := l.most.Load(); got > memory+conns*largeReply {
			t.Errorf("replies took %d bytes, and may %d", got, memory)
		}
		if l.held.Load() != 0 {
			t.Errorf("%d bytes of replies are left", l.held.Load())
		}
		for _, conn := range clients {
			conn.Close()
			<-conn.Done()
		}
		s.Close()
		<-served
		time.Sleep(time.Hour)
	})
}

// TestGateway restarts the server behind a gateway. The client's calls wait for the restart, and it
// loses its connection once per restart.
func TestGateway(t *testing.T) {
	const (
		gatewayHost = "10.0.0.200"
		gatewayAddr = gatewayHost + ":2049"
		restarts    = 3
	)
	eachSeed(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := newWorld(t, seed, rpcrdma.RFC8166)
		d := iwarp.Dialer{Config: provider(), DialContext: w.net.Dialer(gatewayHost)}
		g, err := gateway.New(gateway.Config{
			Logger: quiet,
			Dial: func(ctx context.Context) (oncrpc.Transport, error) {
				return rpcrdma.Dial(ctx, d, serverAddr, rpcrdma.Config{Logger: quiet})
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		below, err := w.net.Listen(gatewayAddr)
		if err != nil {
			t.Fatal(err)
		}
		front := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet, Forward: g.Forward})
		served := make(chan error, 1)
		go func() {
			served <- recordmark.Serve(t.Context(), below, front, recordmark.Config{Logger: quiet})
		}()

		var dials atomic.Int64
		conn, err := redial.New(t.Context(), func(ctx context.Context) (oncrpc.Transport, error) {
			dials.Add(1)
			return dialTCP(ctx, w.net, 0, gatewayAddr)
		}, redial.Config{Wait: -1, Stall: -1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "client"})
		if err != nil {
			t.Fatal(err)
		}
		root, err := nfsclient.Mount(t.Context(), conn, cred, "/")
		if err != nil {
			t.Fatal(err)
		}
		c := nfsclient.New(conn, cred)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				how := nfs3.CreateHow{}
				if _, err := c.Create(t.Context(), root, fmt.Sprint("file", i), how); err != nil {
					t.Errorf("CREATE by way of the gateway: %v", err)
				}
				time.Sleep(time.Second)
			}
		})
		for range restarts {
			time.Sleep(time.Duration(5+r.IntN(20)) * time.Second)
			w.stop()
			time.Sleep(time.Duration(5+r.IntN(60)) * time.Second)
			w.start()
		}
		time.Sleep(time.Minute)
		cancel()
		calls.Wait()
		if got := dials.Load(); got > 1+restarts {
			t.Errorf("the client connected %d times, and its server was started again %d times",
				got, restarts)
		}
		conn.Close()
		<-conn.Done()
		g.Drain()
		front.Close()
		if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Error(err)
		}
		g.Close()
		w.stop()
		time.Sleep(time.Hour)
	})
}
