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
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// The limits of a server under load, and the load.
const (
	handlers    = 4       // MaxConcurrent
	replyMemory = 1 << 16 // for about two hundred replies
	bulkWrites  = 48      // of 1 MiB, by each client; under the race detector, fewWrites
	fewWrites   = 8
	heldCalls   = 24 // by each client; their arguments arrive all at once
)

// holding is a program whose calls fetch their arguments and then take a while.
type holding struct {
	running, most atomic.Int64
	calls         atomic.Int64
}

const holdingProgram = 400_001

func (h *holding) program() oncrpc.Program {
	return oncrpc.Program{
		Name: "holding", Number: holdingProgram, Version: 1,
		Procedures: []oncrpc.Procedure{{}, {Handler: h.handle}, {Handler: h.handle, Once: true}},
	}
}

func (h *holding) handle(ctx context.Context, c *oncrpc.Call) error {
	b := c.Args.Bulk(1 << 20)
	if err := c.Args.Err(); err != nil {
		return err
	}
	if _, err := b.Bytes(ctx); err != nil {
		return err
	}
	h.calls.Add(1)
	n := h.running.Add(1)
	defer h.running.Add(-1)
	for most := h.most.Load(); n > most && !h.most.CompareAndSwap(most, n); most = h.most.Load() {
	}
	time.Sleep(100 * time.Millisecond)
	return nil
}

// heldArgs is the argument of a call of holding.
type heldArgs []byte

func (a heldArgs) MarshalXDR(e *xdr.Encoder) { e.BulkBytes(a, nil) }

// loaded is a server under load, and the network to it. No connection may end.
type loaded struct {
	t       *testing.T
	r       *rand.Rand // of the seed, for setting things up
	net     *faultnet.Memory
	config  rpcrdma.Config // of both ends
	dialect rpcrdma.Dialect
	way     faultnet.Way
	holding holding
	nfs     *nfsserver.Server
	server  *oncrpc.Server
	served  chan error
}

func newLoaded(t *testing.T, seed uint64, way faultnet.Way) *loaded {
	t.Helper()
	return newLoadedWith(t, seed, way, rpcrdma.Config{Credits: bulkWrites + heldCalls + 4})
}

// newLoadedWith is newLoaded with a given configuration for both ends.
func newLoadedWith(
	t *testing.T, seed uint64, way faultnet.Way, cfg rpcrdma.Config,
) *loaded {
	t.Helper()
	l := &loaded{t: t, r: rand.New(rand.NewPCG(seed, 0)), way: way, served: make(chan error, 1)}
	if seed%2 == 0 {
		l.dialect = rpcrdma.Draft
	}
	l.config = cfg
	l.config.Logger, l.config.Dialect = quiet, l.dialect
	l.net = faultnet.NewMemory(faultnet.Config{Seed: seed, Up: way, Down: way})
	fs, err := memfs.New(memfs.Config{RootMode: 0o777})
	if err != nil {
		t.Fatal(err)
	}
	below, err := l.net.Listen(serverAddr)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := iwarp.NewListener(below, provider())
	if err != nil {
		t.Fatal(err)
	}
	if l.nfs, err = nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}, Logger: quiet,
	}); err != nil {
		t.Fatal(err)
	}
	l.server = oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: quiet, MaxConcurrent: handlers, ReplyMemory: replyMemory,
	})
	if err := l.server.Handle(append(l.nfs.Programs(), l.holding.program())...); err != nil {
		t.Fatal(err)
	}
	go func() {
		l.served <- rpcrdma.Serve(t.Context(), listener, l.server, l.config)
	}()
	return l
}

// stop ends the server and checks that nothing is left of it.
func (l *loaded) stop() {
	l.server.Close()
	<-l.served
	time.Sleep(time.Hour)
	if s := l.server.Stats(); s.InFlight != 0 || s.Conns != 0 {
		l.t.Errorf("the server has ended, and %d calls and %d connections are left", s.InFlight, s.Conns)
	}
}

// dial connects from a host.
func (l *loaded) dial(ctx context.Context, n int) (*rpcrdma.Conn, error) {
	host := netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + n)}).String()
	d := iwarp.Dialer{Config: provider(), DialContext: l.net.Dialer(host)}
	return rpcrdma.Dial(ctx, d, serverAddr, l.config)
}

// loadedClient is the client of one host.
type loadedClient struct {
	*nfsclient.Client
	root nfs3.FH
}

// mount makes a client over a transport.
func (l *loaded) mount(n int, t oncrpc.Transport) loadedClient {
	l.t.Helper()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: fmt.Sprint("client", n)})
	if err != nil {
		l.t.Fatal(err)
	}
	root, err := nfsclient.Mount(l.t.Context(), t, cred, "/")
	if err != nil {
		l.t.Fatal(err)
	}
	return loadedClient{nfsclient.New(t, cred), root}
}

// eachSeed runs seeds of a simulation, each in a bubble.
func eachSeed(t *testing.T, seeds uint64, f func(t *testing.T, seed uint64)) {
	t.Helper()
	if raced {
		seeds = 1
	}
	first, last := uint64(1), seeds
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, seed) })
			if t.Failed() {
				t.Logf("go test ./nfsdemo/simulation -run %s -seed %d", t.Name(), seed)
			}
		})
	}
}

// TestSlowNetwork has clients write large amounts over slow links that stop at times, for less than
// PeerTimeout. No connection ends, and a NULL waits for the RDMA Reads of one connection at most,
// of which there are no more than 16.
func TestSlowNetwork(t *testing.T) {
	eachSeed(t, soak.Amount[uint64](1, 2), func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		way := faultnet.Way{
			Bandwidth: []int{750_000, 1_250_000}[r.IntN(2)],
			Delay:     time.Duration(r.IntN(100)) * time.Millisecond,
		}
		l := newLoaded(t, seed, way)
		var all sync.WaitGroup
		for n := range 2 {
			conn, err := l.dial(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			c := l.mount(n, conn)
			// no link stops for longer than this
			stands := time.Duration(r.IntN(20)) * time.Second
			at := time.Duration(1+r.IntN(20)) * time.Second
			link := l.net.Links()[n]
			all.Go(func() {
				time.Sleep(at)
				link.Freeze(faultnet.Up, faultnet.Down)
				time.Sleep(stands)
				link.Thaw(faultnet.Up, faultnet.Down)
			})
			all.Go(func() {
				l.writeMuch(n, c, stands)
				if err := conn.Err(); err != nil {
					t.Errorf("client %d has lost its connection: %v", n, err)
				}
				if _, inUse, _ := conn.Credits(); inUse != 0 {
					t.Errorf("client %d: %d credits are in use", n, inUse)
				}
				conn.Close()
				<-conn.Done()
			})
		}
		all.Wait()
		l.stop()
	})
}

// writeMuch writes files and makes NULL calls at the same time.
func (l *loaded) writeMuch(n int, c loadedClient, stands time.Duration) {
	ctx, cancel := context.WithCancel(l.t.Context())
	o, err := c.Create(ctx, c.root, fmt.Sprint("much", n), nfs3.CreateHow{})
	if err != nil {
		l.t.Error(err)
	}
	var writes, nulls sync.WaitGroup
	p := contents(uint64(n), 1<<20)
	count := bulkWrites
	if raced {
		count = fewWrites
	}
	for i := range count {
		writes.Go(func() {
			if _, err := c.Write(ctx, o.File, uint64(i)<<20, p, nfs3.FileSync); err != nil {
				l.t.Errorf("WRITE %d of client %d: %v", i, n, err)
			}
		})
	}
	// 16 Reads of 1 MiB, and what the network and the sockets buffer.
	limit := time.Duration(18<<20/l.way.Bandwidth)*time.Second + stands + 2*time.Second
	nulls.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			if err := c.Null(ctx); err != nil && ctx.Err() == nil {
				l.t.Errorf("NULL beside WRITEs: %v", err)
				return
			}
			if took := time.Since(began); took > limit {
				l.t.Errorf("NULL beside WRITEs took %v, more than %v", took, limit)
			}
			time.Sleep(time.Second)
		}
	})
	writes.Wait()
	cancel()
	nulls.Wait()
}

// TestHandlersAtOnce delays the arguments of many calls and lets them arrive all at once. The
// number of running handlers stays within its limit.
func TestHandlersAtOnce(t *testing.T) {
	eachSeed(t, 4, func(t *testing.T, seed uint64) {
		l := newLoaded(t, seed, faultnet.Way{Delay: time.Millisecond})
		var conns []*rpcrdma.Conn
		var all sync.WaitGroup
		for n := range 4 {
			conn, err := l.dial(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
			p := heldArgs(make([]byte, 4096+l.r.IntN(64<<10)))
			c := oncrpc.NewClient(conn, holdingProgram, 1, nil)
			for range heldCalls {
				all.Go(func() {
					if err := c.Do(t.Context(), &oncrpc.Request{Procedure: 1, Args: p}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		// The calls have been sent, their arguments not yet.
		time.Sleep(2*time.Millisecond - time.Duration(l.r.IntN(1000))*time.Microsecond)
		for _, link := range l.net.Links() {
			link.Freeze(faultnet.Up)
		}
		time.Sleep(time.Duration(1+l.r.IntN(20)) * time.Second)
		for _, link := range l.net.Links() {
			link.Thaw(faultnet.Up)
		}
		all.Wait()
		if n := l.holding.most.Load(); n > handlers {
			t.Errorf("%d handlers ran at the same time, and %d may", n, handlers)
		}
		for _, conn := range conns {
			conn.Close()
			<-conn.Done()
		}
		l.stop()
	})
}

// TestBusyNeighbour loses a client's replies while a client on another host makes many calls whose
// replies are kept. Calls that the first client repeats are not executed again.
func TestBusyNeighbour(t *testing.T) {
	eachSeed(t, 4, func(t *testing.T, seed uint64) {
		l := newLoaded(t, seed, faultnet.Way{Delay: time.Millisecond})
		conn, err := redial.New(t.Context(), func(ctx context.Context) (oncrpc.Transport, error) {
			return l.dial(ctx, 0)
		}, redial.Config{Wait: -1, Stall: stall, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		c := l.mount(0, conn)
		busy, err := l.dial(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		neighbour := l.mount(1, busy)
		for round := range 3 {
			name := fmt.Sprint("mine", round)
			if _, err := c.Create(t.Context(), c.root, name, nfs3.CreateHow{}); err != nil {
				t.Fatal(err)
			}
			link := l.net.Links()[len(l.net.Links())-1]
			if round == 0 {
				link = l.net.Links()[0]
			}
			link.Freeze(faultnet.Down) // the call arrives, its reply does not
			var removal sync.WaitGroup
			removal.Go(func() {
				if err := c.Remove(t.Context(), c.root, name); err != nil {
					t.Errorf("REMOVE that was made again: %v", err)
				}
			})
			for i := range 4100 + l.r.IntN(1000) {
				err := neighbour.Remove(t.Context(), neighbour.root, fmt.Sprint("nothing", i))
				if !errors.Is(err, nfs3.ErrNoEnt) {
					t.Errorf("REMOVE of nothing: %v", err)
				}
			}
			link.Cut([]faultnet.Ending{faultnet.FIN, faultnet.RST}[l.r.IntN(2)])
			removal.Wait()
		}
		conn.Close()
		<-conn.Done()
		busy.Close()
		<-busy.Done()
		l.stop()
	})
}

// TestFarAway has a client on a long path make many small writes at a time, which need more RDMA
// Reads than the connection can have under way. A NULL does not wait for them: it takes one round
// trip.
func TestFarAway(t *testing.T) {
	eachSeed(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		way := faultnet.Way{Delay: time.Duration(50+r.IntN(100)) * time.Millisecond}
		l := newLoaded(t, seed, way)
		conn, err := l.dial(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		c := l.mount(0, conn)
		o, err := c.Create(t.Context(), c.root, "file", nfs3.CreateHow{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for i := range uint64(bulkWrites) {
			writers.Go(func() {
				for p := contents(i, 5000); ctx.Err() == nil; {
					_, err := c.Write(t.Context(), o.File, i*uint64(len(p)), p, nfs3.FileSync)
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 30 {
			time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
			began := time.Now()
			if err := c.Null(t.Context()); err != nil {
				t.Error(err)
			}
			if took, limit := time.Since(began), 3*way.Delay; took > limit {
				t.Errorf("NULL beside WRITEs took %v, more than %v", took, limit)
			}
		}
		cancel()
		writers.Wait()
		conn.Close()
		<-conn.Done()
		l.stop()
	})
}
