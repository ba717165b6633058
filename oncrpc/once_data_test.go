package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// slowData is bulk data of one call, which arrives when open is closed. It counts what was taken.
type slowData struct {
	data             []byte
	open             chan struct{} // nil if it arrives at once
	fetched, holding atomic.Int32
}

func (s *slowData) Fetch(_ context.Context, _, n int, dst [][]byte, w xdr.BulkWatcher) error {
	if s.open != nil {
		<-s.open
	}
	s.fetched.Add(1)
	rest := s.data[:n]
	w.Arrived(rest[:n/2])
	w.Arrived(rest[n/2:])
	for _, p := range dst {
		rest = rest[copy(p, rest):]
	}
	return nil
}

func (s *slowData) Load(ctx context.Context, id, n int, take bool, w xdr.BulkWatcher) ([]byte,
	xdr.Releaser, error) {
	p := make([]byte, n)
	if err := s.Fetch(ctx, id, n, [][]byte{p}, w); err != nil || !take {
		return p, nil, err
	}
	s.holding.Add(1)
	return p, s, nil
}

func (s *slowData) Release() { s.holding.Add(-1) }

// callWith returns a call of procedure 1 whose only argument is the bulk data of src.
func callWith(t testing.TB, peer string, xid uint32, src *slowData) *incoming {
	in := callFrom(t, peer, nil)
	in.notReady = true
	call := callBytes(xid, 1, uint32(len(src.data)))
	in.args.Reset(call, []xdr.Chunk{{Position: len(call), Len: len(src.data), Source: src}})
	return in
}

// fetcher is a handler that fetches its data and then does its work. Its results are the length of
// the data, encoded before fetching, and how often the work was done.
type fetcher struct {
	fetch    func(context.Context, xdr.Bulk) ([]byte, error) // nil means bytesOf
	done     atomic.Uint32
	open     chan struct{} // if set, the work ends when it is closed
	failures atomic.Int32  // of this many first calls
}

func bytesOf(ctx context.Context, b xdr.Bulk) ([]byte, error) { return b.Bytes(ctx) }

func (f *fetcher) handle(ctx context.Context, c *oncrpc.Call) error {
	fetch := f.fetch
	if fetch == nil {
		fetch = bytesOf
	}
	b := c.Args.Bulk(1 << 20)
	c.Results.Uint32(uint32(b.Len()))
	if _, err := fetch(ctx, b); err != nil {
		return err
	}
	if f.open != nil {
		<-f.open
	}
	if f.failures.Add(-1) >= 0 {
		return errors.New("failed")
	}
	c.Results.Uint32(f.done.Add(1))
	return nil
}

// The data of the first call arrives after a copy was executed and answered. The first call is not
// executed, however its handler fetches, and gets the same answer.
func TestOnceDataLate(t *testing.T) {
	for name, fetch := range map[string]func(context.Context, xdr.Bulk) ([]byte, error){
		"Bytes": bytesOf,
		"FetchInto": func(ctx context.Context, b xdr.Bulk) ([]byte, error) {
			p := make([]byte, b.Len())
			return p, b.FetchInto(ctx, [][]byte{p[:3], p[3:]})
		},
		"Take": func(ctx context.Context, b xdr.Bulk) ([]byte, error) {
			p, release, err := b.Take(ctx)
			if err == nil {
				release.Release()
			}
			return p, err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := fetcher{fetch: fetch}
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: f.handle, Once: true})
			late := &slowData{data: []byte("data"), open: make(chan struct{})}
			first := callWith(t, "tcp "+peerA, 7, late)
			dispatchIn(s, first)
			synctest.Wait()
			second := callWith(t, "tcp "+peerA, 7, &slowData{data: []byte("data")})
			dispatchIn(s, second)
			want := <-second.reply
			close(late.open)
			if got := <-first.reply; !bytes.Equal(got, want) {
				t.Errorf("%s: got %x, the copy %x", name, got, want)
			}
			synctest.Wait()
			if got := f.done.Load(); got != 1 {
				t.Errorf("%s: executed %d times", name, got)
			}
			if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 2, Replayed: 1}); got != want {
				t.Errorf("%s: stats %+v, want %+v", name, got, want)
			}
			if late.fetched.Load() != 1 || late.holding.Load() != 0 {
				t.Errorf("%s: fetched %d times, %d taken and not given back",
					name, late.fetched.Load(), late.holding.Load())
			}
		})
	}
}

// The data of the first call arrives while a copy is executed. The first call waits for the answer.
// If the copy fails, it is executed after all.
func TestOnceDataUnderWay(t *testing.T) {
	for _, failures := range []int32{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			f := fetcher{open: make(chan struct{})}
			f.failures.Store(failures)
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: f.handle, Once: true})
			late := &slowData{data: []byte("data"), open: make(chan struct{})}
			first := callWith(t, peerA, 7, late)
			second := callWith(t, peerB, 7, &slowData{data: []byte("data")})
			dispatchIn(s, first)
			dispatchIn(s, second)
			synctest.Wait()
			close(late.open)
			synctest.Wait()
			if first.answers.Load() != 0 {
				t.Error("the first call was answered before the copy was executed")
			}
			close(f.open)
			one, two := <-first.reply, <-second.reply
			if want := unhex(t, "00000004 00000001"); !bytes.Equal(one[24:], want) {
				t.Errorf("after %d failures the first call got %x, want %x", failures, one[24:], want)
			}
			if failures == 0 && !bytes.Equal(one, two) {
				t.Errorf("the first call got %x, the copy %x", one, two)
			}
			if got := f.done.Load(); got != 1 {
				t.Errorf("after %d failures executed %d times", failures, got)
			}
			// A later copy still gets the same answer.
			third := callWith(t, peerA, 7, &slowData{data: []byte("data")})
			dispatchIn(s, third)
			if got := <-third.reply; !bytes.Equal(got, one) {
				t.Errorf("a later copy got %x, want %x", got, one)
			}
			synctest.Wait()
			if got := s.Stats().InFlight; got != 0 {
				t.Errorf("%d in flight", got)
			}
		})
	}
}

// Calls are distinguished by all of their arguments, bulk data included, and are the same whether
// bulk data was in the message or came separately.
func TestOnceDataKey(t *testing.T) {
	with := func(n, at int) []byte {
		p := make([]byte, n)
		if at >= 0 {
			p[at] = 1
		}
		return p
	}
	for _, tt := range []struct {
		name          string
		first, second []byte
		same          bool
	}{
		{"the same", with(8000, -1), with(8000, -1), true},
		{"of 5 bytes", with(5, -1), with(5, -1), true},
		{"first byte", with(8000, -1), with(8000, 0), false},
		{"a byte in the middle", with(8000, -1), with(8000, 1020), false},
		{"last byte", with(8000, -1), with(8000, 7999), false},
		{"length", with(8000, -1), with(8001, -1), false},
		{"length, with the same padding", with(5, -1), with(6, -1), false},
	} {
		for _, inline := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			var f fetcher
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: f.handle, Once: true})
			for i, data := range [][]byte{tt.first, tt.second} {
				in := callWith(t, peerA, 7, &slowData{data: data})
				if inline[i] {
					call := callBytes(7, 1, uint32(len(data)))
					call = append(append(call, data...), make([]byte, xdr.RoundUp(len(data))-len(data))...)
					in.args.Reset(call, nil)
					in.notReady = false
				}
				dispatchIn(s, in)
				<-in.reply
			}
			if same := f.done.Load() == 1; same != tt.same {
				t.Errorf("%s, inline %v: the same is %v", tt.name, inline, same)
			}
		}
	}
}

// A call was answered without its data. A copy gets the same answer, whether its handler would
// fetch or not.
func TestOnceDataNotFetched(t *testing.T) {
	for _, fetch := range []bool{false, true} {
		var n counter
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true,
			Handler: func(ctx context.Context, c *oncrpc.Call) error {
				b := c.Args.Bulk(100)
				if fetch && n.Load() > 0 {
					if _, err := b.Bytes(ctx); err != nil {
						return err
					}
				}
				return n.handle(ctx, c)
			}})
		for range 2 {
			in := callWith(t, peerA, 7, &slowData{data: []byte("data")})
			dispatchIn(s, in)
			if got := binary.BigEndian.Uint32((<-in.reply)[24:]); got != 1 {
				t.Errorf("fetching %v: execution %d, want the first", fetch, got)
			}
		}
	}
}

// While the data of a call is on its way, a copy is answered without its data. The first call is
// then not executed.
func TestOnceDataNotFetchedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		var lazy atomic.Bool
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true,
			Handler: func(ctx context.Context, c *oncrpc.Call) error {
				b := c.Args.Bulk(100)
				if !lazy.Load() {
					if _, err := b.Bytes(ctx); err != nil {
						return err
					}
				}
				return n.handle(ctx, c)
			}})
		late := &slowData{data: []byte("data"), open: make(chan struct{})}
		first := callWith(t, peerA, 7, late)
		dispatchIn(s, first)
		synctest.Wait()
		lazy.Store(true)
		second := callWith(t, peerB, 7, &slowData{data: []byte("data")})
		dispatchIn(s, second)
		want := <-second.reply
		close(late.open)
		if got := <-first.reply; !bytes.Equal(got, want) || n.Load() != 1 {
			t.Errorf("got %x, want %x; %d executions", got, want, n.Load())
		}
	})
}

// An interceptor sees a copy end with ErrDrop. Its own error is not sent.
func TestOnceDataIntercepted(t *testing.T) {
	var f fetcher
	seen := make(chan error, 2)
	s := newServer(t, oncrpc.ServerConfig{Interceptors: []oncrpc.ServerInterceptor{
		func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
			seen <- next(ctx, c)
			return nil
		}}}, oncrpc.Procedure{Handler: f.handle, Once: true})
	var replies [2][]byte
	for i := range replies {
		in := callWith(t, peerA, 7, &slowData{data: []byte("data")})
		dispatchIn(s, in)
		replies[i] = <-in.reply
	}
	if !bytes.Equal(replies[0], replies[1]) {
		t.Errorf("got %x, then %x", replies[0], replies[1])
	}
	if first, second := <-seen, <-seen; first != nil || !errors.Is(second, oncrpc.ErrDrop) {
		t.Errorf("the interceptor saw %v, then %v", first, second)
	}
}

// A call was executed. Since then the handler refuses such calls before it fetches their data, with
// results or with an error. A copy gets the first answer all the same, and another call does not.
func TestOnceDataRefused(t *testing.T) {
	for _, refusal := range []error{nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}} {
		var n counter
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true,
			Handler: func(ctx context.Context, c *oncrpc.Call) error {
				b := c.Args.Bulk(100)
				if n.Load() > 0 {
					c.Results.Uint32(30) // NFS3ERR_ROFS
					return refusal
				}
				if _, err := b.Bytes(ctx); err != nil {
					return err
				}
				return n.handle(ctx, c)
			}})
		ask := func(xid uint32, data string) []byte {
			in := callWith(t, peerA, xid, &slowData{data: []byte(data)})
			dispatchIn(s, in)
			return <-in.reply
		}
		first := ask(7, "data")
		if got := ask(7, "data"); !bytes.Equal(got, first) {
			t.Errorf("refused with %v: the copy got %x, want %x", refusal, got, first)
		}
		for _, other := range [][]byte{ask(8, "data"), ask(7, "longer")} {
			if bytes.Equal(other[4:], first[4:]) {
				t.Errorf("refused with %v: another call got %x", refusal, other)
			}
		}
	}
}

// A host first loses results of the procedure with the most results.
func TestOnceSharesByProcedure(t *testing.T) {
	var n counter
	p := oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true}
	s := newServer(t, oncrpc.ServerConfig{ReplyMemory: 10 * kept}, p, p)
	executed := func(xid, procedure uint32) bool {
		before := n.Load()
		dispatchFrom(t, s, peerA, callBytes(xid, procedure))
		return n.Load() != before
	}
	for xid := range uint32(3) {
		executed(xid, 1)
	}
	for xid := range uint32(1000) {
		executed(xid, 2)
	}
	for xid := range uint32(3) {
		if executed(xid, 1) {
			t.Errorf("call %d of the rare procedure was executed again", xid)
		}
	}
	if executed(993, 2) {
		t.Error("there was memory for call 993 of the frequent procedure")
	}
	if !executed(992, 2) {
		t.Error("more was kept than there is memory for")
	}
}

// Many copies of many calls run at once, and their data arrives at any time. Each copy is answered
// with its own results. If there is memory for the replies, each call is executed once.
func TestOnceDataRace(t *testing.T) {
	const calls, copies = 200, 5
	for _, memory := range []int64{0, 20 * kept} {
		var executed [calls]atomic.Int32
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 3, ReplyMemory: memory},
			oncrpc.Procedure{Once: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
				p, err := c.Args.Bulk(100).Bytes(ctx)
				if err != nil {
					return err
				}
				i := binary.BigEndian.Uint32(p)
				if executed[i].Add(1) == 1 && i%7 == 0 { // so that a copy is executed instead
					executed[i].Store(0)
					return errors.New("failed")
				}
				c.Results.Uint32(i)
				return nil
			}})
		var wg sync.WaitGroup
		for peer := range copies {
			wg.Go(func() {
				for i := range uint32(calls) {
					src := &slowData{data: binary.BigEndian.AppendUint32(nil, i), open: make(chan struct{})}
					in := callWith(t, []string{peerA, peerB}[peer%2], i, src)
					dispatchIn(s, in)
					runtime.Gosched()
					close(src.open)
					reply := <-in.reply
					failed := i%7 == 0 && len(reply) == 24 // SYSTEM_ERR
					if !failed && (len(reply) != 28 || binary.BigEndian.Uint32(reply[24:]) != i) {
						t.Errorf("call %d was answered with %x", i, reply)
					}
				}
			})
		}
		wg.Wait()
		for i := range executed {
			if got := executed[i].Load(); memory == 0 && got > 1 {
				t.Errorf("call %d: %d executions, want 1", i, got)
			}
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if got := s.Stats(); got.InFlight != 0 || got.Calls != calls*copies || got.Dropped != 0 {
			t.Errorf("stats %+v", got)
		}
	}
}
