package simulation

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this one alone")
	seedsFlag = flag.Uint64("seeds", soak.Amount[uint64](24, 60), "run this many")
	firstFlag = flag.Uint64("first", 1, "run them from this one on")
)

// The size of a simulation.
const (
	clients      = 3
	ownRegisters = 4  // of each client
	fileNames    = 4  // that clients create, remove and rename
	rounds       = 30 // of each worker
	fewSeeds     = 20 // under the race detector, of those that run without it
	telling      = 49 // a seed that finds a mistake that no lower one does: see docs/testing.md
)

// TestSimulation runs seeds. With odd seeds the server is restarted and forgets its kept replies,
// so a repeated call may be executed twice, as NFSv3 allows. In these runs each register has one
// writer, and names are not used.
func TestSimulation(t *testing.T) {
	seeds := *seedsFlag
	if raced {
		seeds = min(seeds, fewSeeds)
	}
	var run []uint64
	for i := range seeds {
		run = append(run, *firstFlag+i)
	}
	if !slices.Contains(run, telling) {
		run = append(run, telling)
	}
	if *seedFlag > 0 {
		run = []uint64{*seedFlag}
	}
	var total tally
	for _, seed := range run {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, &total) })
			if t.Failed() {
				t.Logf("go test ./nfsdemo/simulation -run TestSimulation -seed %d", seed)
			}
		})
	}
	t.Log(&total)
}

// tally counts events in simulations.
type tally struct {
	ops, failed, repeated, restarts atomic.Int64
	frozen, cut, vanished, slowed   atomic.Int64
	delayed, held, flushed, refused atomic.Int64
	virtual                         atomic.Int64 // seconds
	rewritten                       atomic.Int64 // files, because the verifier had changed
}

func (n *tally) String() string {
	return fmt.Sprintf("%d s: %d operations, %d of them failed, %d were made again; "+
		"%d restarts, %d files written again since; "+
		"connections %d times frozen, %d cut, %d half open, %d slow; work requests: %d delayed, "+
		"%d completions held back, %d connections ended before one, %d times no memory",
		n.virtual.Load(), n.ops.Load(), n.failed.Load(), n.repeated.Load(),
		n.restarts.Load(), n.rewritten.Load(),
		n.frozen.Load(), n.cut.Load(), n.vanished.Load(), n.slowed.Load(),
		n.delayed.Load(), n.held.Load(), n.flushed.Load(), n.refused.Load())
}

// simulation is one run.
type simulation struct {
	*world
	*tally
	seed     uint64
	restarts bool // the server is restarted during the run
	clients  []*client
	files    []nfs3.FH // registers, those of the first client first
	dir      nfs3.FH   // of the names
	history  history
	values   atomic.Uint64
}

// simulate runs one seed, in a bubble.
func simulate(t *testing.T, seed uint64, n *tally) {
	began := time.Now()
	dialect := rpcrdma.RFC8166
	if seed%4 >= 2 {
		dialect = rpcrdma.Draft
	}
	s := &simulation{world: newWorld(t, seed, dialect), tally: n, seed: seed, restarts: seed%2 == 1}
	for i := range clients {
		s.clients = append(s.clients, s.client(i))
	}
	s.setUp()
	var workers sync.WaitGroup
	for i, c := range s.clients {
		workers.Go(func() { s.useRegisters(i, c) })
		workers.Go(func() { s.copyFiles(i, c) })
		if !s.restarts {
			workers.Go(func() { s.useNames(i, c) })
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	faults := make(chan struct{})
	go func() {
		defer close(faults)
		s.haveFaults(ctx)
	}()
	workers.Wait()
	cancel()
	<-faults
	time.Sleep(3 * time.Minute)
	if seed%3 == 0 {
		for _, l := range s.net.Links() {
			l.Vanish(faultnet.ListeningEnd)
		}
	}
	for i, c := range s.clients {
		s.finish(i, c)
	}
	for _, c := range s.clients {
		c.checkIdle(t)
		c.close(t)
	}
	s.stop()
	if wrong := s.history.check(); wrong != "" {
		t.Error(wrong)
	}
	n.frozen.Add(s.counters.Frozen.Load())
	n.cut.Add(s.counters.Cut.Load())
	n.vanished.Add(s.counters.Vanished.Load())
	n.delayed.Add(s.counters.Delayed.Load())
	n.held.Add(s.counters.Held.Load())
	n.flushed.Add(s.counters.Flushed.Load())
	n.refused.Add(s.counters.NoMemory.Load())
	n.virtual.Add(int64(time.Since(began) / time.Second))
	time.Sleep(time.Hour) // connections also wait a while for the peer to close
}

// random returns a source of random numbers for one part of the simulation.
func (s *simulation) random(part int) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, uint64(part)))
}

// registerSize returns the length of a register in bytes. Some go inline, some by chunks.
func registerSize(i int) int { return []int{256, 8 << 10, 64 << 10, 2000}[i%4] }

// setUp makes the registers and the directory of the names, before faults begin.
func (s *simulation) setUp() {
	s.t.Helper()
	c := s.clients[0]
	for i := range clients * ownRegisters {
		o, err := c.nfs.Create(s.t.Context(), c.root, fmt.Sprint("register", i), nfs3.CreateHow{})
		if err != nil {
			s.t.Fatal(err)
		}
		p := contents(0, registerSize(i))
		if _, err := c.nfs.Write(s.t.Context(), o.File, 0, p, nfs3.FileSync); err != nil {
			s.t.Fatal(err)
		}
		s.files = append(s.files, o.File)
	}
	o, err := c.nfs.Mkdir(s.t.Context(), c.root, "names", nfs3.Sattr{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.dir = o.File
}

// contents returns n bytes filled with a value.
func contents(value uint64, n int) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(nil, value), n/8)
}

// call makes a call with a deadline, which it must not miss, and then waits a while. It reports
// whether the outcome is unknown.
func (s *simulation) call(
	r *rand.Rand, what string, f func(context.Context) error,
) (unknown bool, err error) {
	limit := time.Duration(1+r.IntN(60)) * time.Second
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	starts := s.world.restarts()
	began := time.Now()
	err = f(ctx)
	if late := time.Since(began) - limit; late > time.Second {
		s.t.Errorf("%s: returned %v after its deadline of %v", what, late, limit)
	}
	s.ops.Add(1)
	var failed *nfsclient.Error
	var status nfs3.Status
	if errors.As(err, &failed) && failed.Repeated {
		s.repeated.Add(1)
	}
	switch {
	case err == nil:
	case errors.As(err, &status): // a reply, but maybe of a second execution
		unknown = failed.Repeated && s.world.restarts() != starts
	default:
		s.failed.Add(1)
		unknown = true
	}
	time.Sleep(time.Duration(r.Int64N(int64(8 * time.Second))))
	return unknown, err
}

// useRegisters writes and reads registers.
func (s *simulation) useRegisters(n int, c *client) {
	r := s.random(100 + n)
	for range rounds {
		i := r.IntN(len(s.files))
		p := make([]byte, registerSize(i))
		if r.IntN(2) == 0 {
			in := op{kind: "read", register: i}
			end := s.history.begin(n, in)
			unknown, err := s.call(r, "READ", func(ctx context.Context) error {
				_, err := c.nfs.Read(ctx, s.files[i], 0, p)
				return err
			})
			value := binary.BigEndian.Uint64(p)
			if err == nil && !bytes.Equal(p, contents(value, len(p))) {
				s.t.Errorf("register %d has several values at once", i)
			}
			s.answered("READ", unknown, err)
			end(seen{unknown: unknown, value: value})
			continue
		}
		if s.restarts {
			i = i%ownRegisters + n*ownRegisters // its own
			p = p[:0]
		}
		in := op{kind: "write", register: i, value: s.values.Add(1)}
		p = contents(in.value, registerSize(i))
		end := s.history.begin(n, in)
		unknown, err := s.call(r, "WRITE", func(ctx context.Context) error {
			res, err := c.nfs.Write(ctx, s.files[i], 0, p, nfs3.FileSync)
			if err == nil && res.N != len(p) {
				s.t.Errorf("WRITE of %d bytes: %d", len(p), res.N)
			}
			return err
		})
		s.answered("WRITE", unknown, err)
		end(seen{unknown: unknown})
	}
}

// answered checks that a call that must succeed was not answered with an error.
func (s *simulation) answered(what string, unknown bool, err error) {
	if err != nil && !unknown {
		s.t.Errorf("%s: %v", what, err)
	}
}

// useNames creates, removes, renames and looks up files.
func (s *simulation) useNames(n int, c *client) {
	r := s.random(200 + n)
	name := func(i int) string { return fmt.Sprint("name", i) }
	for range rounds {
		in := op{
			kind: []string{"create", "remove", "rename", "look"}[r.IntN(4)],
			name: r.IntN(fileNames), to: r.IntN(fileNames),
		}
		if in.to == in.name {
			in.to = (in.to + 1) % fileNames
		}
		end := s.history.begin(clients+n, in)
		unknown, err := s.call(r, in.kind, func(ctx context.Context) (err error) {
			switch in.kind {
			case "create":
				_, err = c.nfs.Create(ctx, s.dir, name(in.name), nfs3.CreateHow{Mode: nfs3.Guarded})
			case "remove":
				err = c.nfs.Remove(ctx, s.dir, name(in.name))
			case "rename":
				err = c.nfs.Rename(ctx, s.dir, name(in.name), s.dir, name(in.to))
			default:
				_, err = c.nfs.Lookup(ctx, s.dir, name(in.name))
			}
			return err
		})
		if err != nil && !unknown && !errors.Is(err, nfs3.ErrNoEnt) && !errors.Is(err, nfs3.ErrExist) {
			s.t.Errorf("%s: %v", in.kind, err)
		}
		end(seen{unknown: unknown, ok: err == nil})
	}
}

// copyFiles writes its own files and reads them back. Acknowledged data must stay.
func (s *simulation) copyFiles(n int, c *client) {
	r := s.random(300 + n)
	for round := range rounds / 2 {
		var file nfs3.FH
		_, err := s.call(r, "CREATE", func(ctx context.Context) error {
			o, err := c.nfs.Create(ctx, c.root, fmt.Sprintf("file-%d-%d", n, round), nfs3.CreateHow{})
			file = o.File
			return err
		})
		if err != nil {
			continue
		}
		want := make([]byte, 1+r.IntN(1<<20))
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		if !s.store(r, c, file, want) {
			continue // part of the write may still arrive
		}
		got := make([]byte, len(want))
		unknown, err := s.call(r, "READ", func(ctx context.Context) error {
			_, err := c.nfs.Read(ctx, file, 0, got)
			return err
		})
		s.answered("READ", unknown, err)
		if err == nil && !bytes.Equal(got, want) {
			s.t.Errorf("client %d, round %d: %d bytes that were written are not those that are read",
				n, round, len(want))
		}
	}
}

// store writes a file, at once or in parts with a COMMIT. It reports whether the file is durable.
func (s *simulation) store(r *rand.Rand, c *client, file nfs3.FH, p []byte) (stays bool) {
	if r.IntN(2) == 0 {
		_, err := s.call(r, "WRITE", func(ctx context.Context) error {
			_, err := c.nfs.Write(ctx, file, 0, p, nfs3.FileSync)
			return err
		})
		return err == nil
	}
	for {
		var verfs [3]nfs3.Verifier // of the parts, and of the COMMIT
		half := len(p) / 2
		for i, part := range [][]byte{p[:half], p[half:]} {
			_, err := s.call(r, "WRITE", func(ctx context.Context) error {
				res, err := c.nfs.Write(ctx, file, uint64(i*half), part, nfs3.Unstable)
				verfs[i] = res.Verf
				return err
			})
			if err != nil {
				return false
			}
		}
		_, err := s.call(r, "COMMIT", func(ctx context.Context) (err error) {
			verfs[2], err = c.nfs.Commit(ctx, file, 0, 0)
			return err
		})
		if err != nil {
			return false
		}
		if verfs[0] == verfs[2] && verfs[1] == verfs[2] {
			return true
		}
		s.rewritten.Add(1) // the server was started again (RFC 1813 section 3.3.21)
	}
}

// finish makes calls after the faults have ended. It starts with short calls and pauses, until a
// server that may be gone is noticed. After that nothing may fail: it reads all registers, and
// writes and reads as much as is allowed at a time.
func (s *simulation) finish(n int, c *client) {
	began := time.Now()
	for {
		// Shorter than redial's ticks, so that no call is under way between two ticks.
		short, cancel := context.WithTimeout(s.t.Context(), 400*time.Millisecond)
		err := c.nfs.Null(short)
		cancel()
		if err == nil {
			break
		}
		if took := time.Since(began); took > 3*stall {
			s.t.Errorf("NULL in the end, after calls that were given up for %v: %v", took, err)
			return
		}
		time.Sleep(stall / 4)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for i, f := range s.files {
		p := make([]byte, registerSize(i))
		end := s.history.begin(n, op{kind: "read", register: i})
		if _, err := c.nfs.Read(ctx, f, 0, p); err != nil {
			s.t.Errorf("READ in the end: %v", err)
			return
		}
		end(seen{value: binary.BigEndian.Uint64(p)})
	}
	o, err := c.nfs.Create(ctx, c.root, fmt.Sprint("last", n), nfs3.CreateHow{})
	if err != nil {
		s.t.Errorf("CREATE in the end: %v", err)
		return
	}
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			p := contents(uint64(i), 1<<20)
			if _, err := c.nfs.Write(ctx, o.File, uint64(i)<<20, p, nfs3.FileSync); err != nil {
				s.t.Errorf("WRITE in the end: %v", err)
			}
			got := make([]byte, len(p))
			if _, err := c.nfs.Read(ctx, o.File, uint64(i)<<20, got); err != nil || !bytes.Equal(got, p) {
				s.t.Errorf("READ in the end: %v; equal: %v", err, bytes.Equal(got, p))
			}
		})
	}
	calls.Wait()
}

// longestFreeze is how long a connection stays frozen. What it holds must arrive before the server
// has forgotten the replies to the copies of it, which it does after two minutes.
const longestFreeze = time.Minute

// haveFaults injects faults until ctx ends, then heals the lasting ones.
func (s *simulation) haveFaults(ctx context.Context) {
	r := s.random(0)
	var frozen []*faultnet.Link
	freeze := func(l *faultnet.Link) {
		frozen = append(frozen, l)
		var thaw func()
		thaw = func() { // again and again: FreezeAt may only be planned yet
			l.Thaw(faultnet.Up, faultnet.Down)
			if ctx.Err() == nil {
				time.AfterFunc(longestFreeze, thaw)
			}
		}
		time.AfterFunc(longestFreeze, thaw)
	}
	for {
		select {
		case <-ctx.Done():
			s.work.SetWork(faultnet.Work{})
			for _, l := range append(frozen, s.net.Links()...) {
				l.Thaw(faultnet.Up, faultnet.Down)
				l.SetWay(faultnet.Up, faultnet.Way{})
				l.SetWay(faultnet.Down, faultnet.Way{})
			}
			return
		case <-time.After(time.Duration(r.ExpFloat64() * float64(3*time.Second))):
		}
		kind := r.IntN(20)
		if kind == 0 && s.restarts {
			s.stop()
			time.Sleep(time.Duration(r.Int64N(int64(20 * time.Second))))
			s.start()
			s.tally.restarts.Add(1)
			continue
		}
		if kind < 3 {
			s.work.SetWork(workOf(r))
			continue
		}
		links := s.net.Links()
		if len(links) == 0 {
			continue
		}
		l := links[r.IntN(len(links))]
		dir := faultnet.Direction(r.IntN(2))
		switch kind {
		case 3, 4, 5, 6, 7:
			l.Freeze(dir)
			freeze(l)
		case 8, 9:
			l.FreezeAt(dir, passed(l, dir)+r.Int64N(1<<18))
			freeze(l)
		case 10, 11, 12:
			if len(frozen) > 0 {
				i := r.IntN(len(frozen))
				frozen[i].Thaw(faultnet.Up, faultnet.Down)
				frozen = append(frozen[:i], frozen[i+1:]...)
			}
		case 13, 14:
			l.Cut([]faultnet.Ending{faultnet.FIN, faultnet.RST}[r.IntN(2)])
		case 15, 16:
			at := passed(l, dir) + r.Int64N(1<<18)
			l.CutAt(dir, at, []faultnet.Ending{faultnet.FIN, faultnet.RST}[r.IntN(2)])
		case 17:
			l.Vanish(faultnet.End(r.IntN(2)))
		default:
			l.SetWay(dir, wayOf(r))
			s.slowed.Add(1)
		}
	}
}

func passed(l *faultnet.Link, d faultnet.Direction) int64 {
	n, _ := l.Bytes(d)
	return n
}

func wayOf(r *rand.Rand) faultnet.Way {
	return faultnet.Way{
		Bandwidth:  []int{0, 20_000, 125_000, 1_250_000, 12_500_000}[r.IntN(5)],
		Delay:      time.Duration(r.IntN(300)) * time.Millisecond,
		Jitter:     time.Duration(r.IntN(50)) * time.Millisecond,
		MaxSegment: []int{0, 0, 1460, 100}[r.IntN(4)],
	}
}

func workOf(r *rand.Rand) (w faultnet.Work) {
	switch r.IntN(5) {
	case 0:
		w.Delay = time.Duration(r.IntN(2000)) * time.Millisecond
	case 1:
		w.Hold = time.Duration(r.IntN(2000)) * time.Millisecond
	case 2:
		w.Flush = 0.01
	case 3:
		w.NoMemory = 0.05
	}
	return w
}
