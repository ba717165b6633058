package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

var quiet = slog.New(slog.DiscardHandler)

// exportPath is the path that the servers export.
const exportPath = "/export"

// lan is a network of 1 Gbit/s.
var lan = faultnet.Way{Bandwidth: 125_000_000, Delay: 50 * time.Microsecond}

// world is a small server in virtual time, on a network in memory.
type world struct {
	t   *testing.T
	fs  *memfs.FS
	srv *oncrpc.Server
	*site

	ended   sync.WaitGroup
	iwarp   iwarp.Counters
	records recordmark.Counters

	mu    sync.Mutex // guards stats
	stats map[string]uint64
}

// small are the server's limits, an eighth of the defaults. So attacks that exhaust it need an
// eighth of the connections.
var small = limits{maxMessage: 512 << 10, maxRecord: 512<<10 + 64<<10, inFlight: 64}

// newWorld starts a server.
func newWorld(t *testing.T, dialect rpcrdma.Dialect) *world {
	t.Helper()
	network := faultnet.NewMemory(faultnet.Config{Up: lan, Down: lan})
	w := &world{t: t, stats: make(map[string]uint64), site: &site{
		rdma: "10.0.0.1:20049", tcp: "10.0.0.1:20048", dialer: network.Dialer, net: "10.0",
		limits: small,
	}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.fs, err = memfs.New(memfs.Config{})
	must(err)
	w.site.file = fileOf(t, w.fs)
	nfs, err := nfsserver.New(nfsserver.Config{Logger: quiet, Exports: []nfsserver.Export{
		{Path: exportPath, FS: w.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
	}})
	must(err)
	w.srv = oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: quiet, MaxConcurrent: 32, ReplyMemory: 2 << 20, MaxConns: 128,
		ConnEnded: w.connEnded,
	})
	must(w.srv.Handle(nfs.Programs()...))
	must(w.srv.Handle(slow))

	below, err := network.Listen(w.rdma)
	must(err)
	rdma, err := iwarp.NewListener(below, iwarp.Config{Logger: quiet, Counters: &w.iwarp})
	must(err)
	tcp, err := network.Listen(w.tcp)
	must(err)
	serve := func(how func() error) {
		w.ended.Go(func() {
			if err := how(); !errors.Is(err, oncrpc.ErrServerClosed) {
				t.Errorf("Serve: %v", err)
			}
		})
	}
	serve(func() error {
		return rpcrdma.Serve(context.Background(), rdma, w.srv, rpcrdma.Config{
			Logger: quiet, Dialect: dialect, MaxMessage: small.maxMessage,
			ConnMemory: 8 << 20, ServerMemory: 64 << 20, ReceiveMemory: 32 << 20,
		})
	})
	serve(func() error {
		return recordmark.Serve(context.Background(), tcp, w.srv, recordmark.Config{
			Logger: quiet, MaxRecord: small.maxRecord, Memory: 64 << 20,
			Counters: &w.records,
		})
	})
	return w
}

// slow is a program whose only procedure takes slowCall.
var slow = oncrpc.Program{Number: 400000, Version: 1, Procedures: []oncrpc.Procedure{
	1: {Handler: func(ctx context.Context, _ *oncrpc.Call) error {
		select {
		case <-ctx.Done():
		case <-time.After(slowCall):
		}
		return nil
	}},
}}

const slowCall = 3 * time.Second

// fileOf makes the attackers' file.
func fileOf(t *testing.T, fs *memfs.FS) nfs3.FH {
	t.Helper()
	su, ctx := &vfs.Cred{}, t.Context()
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o777}}
	if _, err := fs.SetAttr(ctx, su, fs.Root(), &mode, nil); err != nil {
		t.Fatal(err)
	}
	how := nfs3.CreateHow{Set: nfs3.Sattr{Mode: anybody, Size: nfs3.Set64{Set: true, To: fileSize}}}
	o, _, err := fs.Create(ctx, su, fs.Root(), "file", &how)
	if err != nil {
		t.Fatal(err)
	}
	return o.File
}

// connEnded adds a connection's counters to the totals.
func (w *world) connEnded(conn oncrpc.Transport, err error) {
	c, ok := conn.(*rpcrdma.Conn)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count("rpcrdma", c.Stats())
	if errors.Is(err, rpcrdma.ErrStalled) {
		w.stats["rpcrdma.Stalled"]++
	}
}

// count adds the fields of a struct of counters.
func (w *world) count(name string, counters any) {
	v := reflect.ValueOf(counters)
	for i := range v.NumField() {
		n := name + "." + v.Type().Field(i).Name
		if f := v.Field(i); f.CanUint() {
			w.stats[n] += f.Uint()
		}
	}
}

// close stops the server, and returns the totals.
func (w *world) close() map[string]uint64 {
	w.srv.Close()
	w.ended.Wait()
	time.Sleep(time.Hour) // connections wait a while for their peers to close, too
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count("iwarp", w.iwarp.Stats())
	w.count("recordmark", w.records.Stats())
	w.count("oncrpc", w.srv.Stats())
	return w.stats
}

// During an attack, bystanders first do as much as they can. Then they do a little for longer than
// any time limit of the server.
const (
	lasting  = 100 * time.Second
	settling = 5 * time.Second
)

// fare is how bystanders fared.
type fare struct {
	took    time.Duration // for the burst
	longest time.Duration // of their calls
	what    string        // the procedure of that call
}

// suffer lets bystanders work while hosts attack, and returns how they fared.
func (w *world) suffer(a *attack, hosts int) (f fare) {
	t := w.t
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	all, err := w.join(ctx, early, byIWARP)
	defer func() { leave(all) }()
	if err != nil {
		t.Error(err)
		return f
	}
	under := a.begin(ctx, w.site, a.virtual(), hosts, a.conns)
	defer under.end()
	if !a.flood {
		time.Sleep(settling)
	}
	others, err := w.join(ctx, late, byIWARP)
	all = append(all, others...)
	if err != nil {
		t.Error(err)
		return f
	}
	switch {
	case a.handlers > 0:
		rounds(t, all, int(lasting/a.handlers), time.Second)
	case a.flood:
		f.took = rounds(t, all, burst, 0)
	default:
		f.took = rounds(t, all, burst, 0)
		rounds(t, all, int(lasting/pause), pause)
	}
	f.longest, f.what = longest(all)
	return f
}

// virtual returns the way of an attack that there is in virtual time, or else -1.
func (a *attack) virtual() way {
	for _, w := range []way{byIWARP, byTCP} {
		if slices.Contains(a.over, w) {
			return w
		}
	}
	return -1
}

// TestBystander lets hosts attack a server in virtual time. The other clients keep at least half of
// their throughput, none of their calls takes longer than longestWait, and a counter shows the
// attack. Calls wait longer only if the attack keeps handlers busy.
func TestBystander(t *testing.T) {
	var calm fare
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0)
		calm = w.suffer(&attack{}, 0)
		w.close()
	})
	t.Logf("without an attack: %v, the longest call %v (%v)", calm.took, calm.longest, calm.what)
	for i, a := range attacks {
		for _, hosts := range []int{1, 3} {
			if a.virtual() < 0 || hosts > 1 && a.flood {
				continue // of floods nothing is kept that more hosts could increase
			}
			if hosts > 1 && !a.memory && !soak.On || raced && (hosts > 1 || i%3 > 0) {
				continue
			}
			t.Run(fmt.Sprintf("%s/hosts %d", a.name, hosts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { a.inVirtualTime(t, hosts, &calm) })
			})
		}
	}
}

// inVirtualTime lets that many hosts attack.
func (a *attack) inVirtualTime(t *testing.T, hosts int, calm *fare) {
	w := newWorld(t, a.dialect)
	f := w.suffer(a, hosts)
	moved := w.close()
	t.Logf("%s: %v, the longest call %v (%v); %v", a.threat, f.took, f.longest, f.what,
		figures(moved))
	if f.took > 2*calm.took {
		t.Errorf("%d rounds took %v, and %v without the attack", burst, f.took, calm.took)
	}
	if limit := longestWait + 2*a.handlers; f.longest > limit {
		t.Errorf("%s took %v, want %v at most", f.what, f.longest, limit)
	}
	if a.moves != "" && moved[a.moves] == 0 {
		t.Errorf("the counter %s has not moved", a.moves)
	}
}

// longestWait is the longest that a bystander's call may take on this network, connecting included.
const longestWait = 100 * time.Millisecond

// figures lists the counters that are not zero.
func figures(m map[string]uint64) (s string) {
	for name, n := range m {
		if n > 0 {
			s += fmt.Sprintf("%s=%d ", name, n)
		}
	}
	return s
}
