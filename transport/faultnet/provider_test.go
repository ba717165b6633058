package faultnet_test

import (
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// side is one end of a connection. It records what happens there.
type side struct {
	transport.Endpoint
	events chan any // messages, and completions
}

// completion is the outcome of a request. Its Context identifies the request.
type completion struct {
	request any
	err     error
}

func (s *side) Complete(wr *transport.WorkRequest, err error) {
	s.events <- completion{wr.Context, err}
}

func (s *side) Received(batch []transport.Message) {
	for _, m := range batch {
		s.events <- string(m.Receive.Local[0].Bytes[:m.Len])
	}
}

// sends returns n Sends of a byte.
func (s *side) sends(n int, flags transport.Flags) (wrs []*transport.WorkRequest) {
	for i := range n {
		wrs = append(wrs, &transport.WorkRequest{
			Op: transport.OpSend, Flags: flags, Done: s, Context: i,
			Local: []transport.Slice{{Bytes: []byte{byte('a' + i)}}},
		})
	}
	return wrs
}

// receives posts n receives.
func (s *side) receives(t *testing.T, n int) {
	t.Helper()
	for range n {
		local := []transport.Slice{{Bytes: make([]byte, 100)}}
		if err := s.PostRecv(&transport.RecvRequest{Local: local}); err != nil {
			t.Fatal(err)
		}
	}
}

// sides runs f in virtual time, with the two ends of a loopback connection. The dialer's end has
// the faults.
func sides(t *testing.T, cfg faultnet.ProviderConfig,
	f func(t *testing.T, p *faultnet.Provider, a, b *side)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fabric := loopback.New()
		l, err := fabric.Listen("server", loopback.Config{SendDepth: 100})
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan transport.Endpoint)
		go func() {
			req, err := l.Accept(t.Context())
			if err != nil {
				t.Error(err)
			}
			ep, err := req.Accept(t.Context(), nil)
			if err != nil {
				t.Error(err)
			}
			accepted <- ep
		}()
		p := faultnet.NewProvider(cfg)
		d := p.Dialer(fabric.Dialer(loopback.Config{SendDepth: 100}))
		ep, err := d.Dial(t.Context(), "server", nil)
		if err != nil {
			t.Fatal(err)
		}
		a := &side{ep, make(chan any, 1000)}
		b := &side{<-accepted, make(chan any, 1000)}
		a.Start(a)
		b.receives(t, 100)
		f(t, p, a, b)
		for _, s := range []*side{a, b} {
			s.Close()
			<-s.Done()
		}
		l.Close()
	})
}

// TestWorkDelay: requests are delayed, and keep their order.
func TestWorkDelay(t *testing.T) {
	var counters faultnet.Counters
	cfg := faultnet.ProviderConfig{
		Seed: 1, Work: faultnet.Work{Delay: time.Second}, Counters: &counters,
	}
	sides(t, cfg, func(t *testing.T, _ *faultnet.Provider, a, b *side) {
		b.Start(b)
		began := time.Now()
		if err := a.Post(a.sends(20, transport.Signaled)...); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if got, want := <-b.events, string(rune('a'+i)); got != want {
				t.Fatalf("received %q, want %q", got, want)
			}
			if got, want := <-a.events, (completion{i, nil}); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		if d := time.Since(began); d == 0 || d > time.Second {
			t.Errorf("20 requests took %v, want up to 1s", d)
		}
		if n := counters.Delayed.Load(); n != 20 {
			t.Errorf("%d delayed, want 20", n)
		}
	})
}

// TestWorkHold holds back a completion: the answer comes first.
func TestWorkHold(t *testing.T) {
	var counters faultnet.Counters
	cfg := faultnet.ProviderConfig{
		Seed: 1, Work: faultnet.Work{Hold: time.Second}, Counters: &counters,
	}
	sides(t, cfg, func(t *testing.T, p *faultnet.Provider, a, b *side) {
		b.Start(b)
		a.receives(t, 1)
		if err := a.Post(a.sends(2, transport.Signaled)...); err != nil {
			t.Fatal(err)
		}
		<-b.events
		if err := b.Post(b.sends(1, 0)...); err != nil {
			t.Fatal(err)
		}
		for i, want := range []any{"a", completion{0, nil}, completion{1, nil}} {
			if got := <-a.events; got != want {
				t.Errorf("event %d is %v, want %v", i, got, want)
			}
		}
		if n := counters.Held.Load(); n != 2 {
			t.Errorf("%d held, want 2", n)
		}
		p.SetWork(faultnet.Work{})
		began := time.Now()
		if err := a.Post(a.sends(1, transport.Signaled)...); err != nil {
			t.Fatal(err)
		}
		<-a.events
		if d := time.Since(began); d != 0 {
			t.Errorf("a request took %v with nothing to be done to it", d)
		}
	})
}

// TestWorkFlush: earlier requests complete, whether signaled or not. The others are flushed, and
// the connection ends at both ends.
func TestWorkFlush(t *testing.T) {
	run := func(seed uint64) (sent int) {
		var counters faultnet.Counters
		cfg := faultnet.ProviderConfig{
			Seed: seed, Work: faultnet.Work{Flush: 0.02}, Counters: &counters,
		}
		sides(t, cfg, func(t *testing.T, _ *faultnet.Provider, a, b *side) {
			b.Start(b)
			posted := 0
			for i := 0; a.Err() == nil; i++ {
				flags := transport.Flags(0)
				if i%2 == 0 {
					flags = transport.Signaled
				}
				b.receives(t, 5)
				if err := a.Post(a.sends(5, flags)...); err != nil {
					t.Fatal(err)
				}
				posted += 5
				synctest.Wait()
			}
			<-a.Done()
			<-b.Done()
			sent = len(b.events)
			failed := 0
			for len(a.events) > 0 {
				c := (<-a.events).(completion)
				switch {
				case c.err == nil && failed > 0:
					t.Errorf("request %v succeeded behind one that was flushed", c.request)
				case c.err != nil && !errors.Is(c.err, transport.ErrFlushed):
					t.Errorf("request %v: %v, want %v", c.request, c.err, transport.ErrFlushed)
				case c.err != nil:
					failed++
				}
			}
			if failed == 0 || sent+failed != posted {
				t.Errorf("%d of %d were sent and %d flushed", sent, posted, failed)
			}
			err := a.Err()
			if !errors.Is(err, faultnet.ErrInjected) || !errors.Is(err, net.ErrClosed) {
				t.Errorf("Err: %v", err)
			}
			if err := b.Err(); !errors.Is(err, transport.ErrClosedByPeer) {
				t.Errorf("the peer's Err: %v", err)
			}
			if err := a.Post(a.sends(1, 0)...); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Post after the end: %v", err)
			}
			if n := counters.Flushed.Load(); n != 1 {
				t.Errorf("%d flushed, want 1", n)
			}
		})
		return sent
	}
	first := run(1)
	if again := run(1); again != first {
		t.Errorf("with the same seed %d and %d requests were sent", first, again)
	}
	if !slices.ContainsFunc([]int{run(2), run(3), run(4)}, func(n int) bool { return n != first }) {
		t.Errorf("with other seeds always %d", first)
	}
}

// TestWorkFlushWaits: a flush waits until the earlier requests have completed.
func TestWorkFlushWaits(t *testing.T) {
	sides(t, faultnet.ProviderConfig{}, func(t *testing.T, p *faultnet.Provider, a, b *side) {
		wrs := a.sends(2, transport.Signaled)
		if err := a.Post(wrs[0]); err != nil {
			t.Fatal(err)
		}
		p.SetWork(faultnet.Work{Flush: 1})
		if err := a.Post(wrs[1]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := a.Err(); err != nil {
			t.Errorf("ended with a request ahead: %v", err)
		}
		b.Start(b)
		if got := <-a.events; got != (completion{0, nil}) {
			t.Errorf("got %v, want success", got)
		}
		if got := (<-a.events).(completion); !errors.Is(got.err, transport.ErrFlushed) {
			t.Errorf("got %v, want %v", got.err, transport.ErrFlushed)
		}
	})
}

// TestWorkDomain: all endpoints over one Domain return the same Domain, because pools depend on it.
func TestWorkDomain(t *testing.T) {
	fabric := loopback.New()
	below, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := faultnet.NewProvider(faultnet.ProviderConfig{})
	l := p.Listener(below)
	defer l.Close()
	domains := make(chan transport.Domain)
	go func() {
		req, err := l.Accept(t.Context())
		if err != nil {
			t.Error(err)
		}
		ep, err := req.Accept(t.Context(), nil)
		if err != nil {
			t.Error(err)
		}
		domains <- ep.Domain()
		ep.Start(&side{})
		<-ep.Done()
	}()
	ep, err := p.Dialer(fabric.Dialer(loopback.Config{})).Dial(t.Context(), "server", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := <-domains; d != ep.Domain() {
		t.Error("two ends of one fabric have two Domains")
	}
	ep.Close()
	<-ep.Done()
}

// TestWorkNoMemory: memory is refused as if the provider had none.
func TestWorkNoMemory(t *testing.T) {
	var counters faultnet.Counters
	cfg := faultnet.ProviderConfig{
		Seed: 1, Work: faultnet.Work{NoMemory: 1}, Counters: &counters,
	}
	sides(t, cfg, func(t *testing.T, p *faultnet.Provider, a, b *side) {
		b.Start(b)
		d := a.Domain()
		if d != a.Domain() {
			t.Error("the endpoint has several Domains")
		}
		importer := d.(transport.Importer)
		mem := []transport.Slice{{Bytes: make([]byte, 8)}}
		try := func() (errs []error) {
			s, err := d.Alloc(8, 0)
			if err == nil {
				d.Free(s)
			}
			errs = append(errs, err)
			if s, err = importer.Import(make([]byte, 8), 0); err == nil {
				importer.Release(s)
			}
			errs = append(errs, err)
			rs, err := a.Expose(nil, mem, transport.RemoteRead)
			if err == nil {
				a.Revoke(rs...)
			} else if len(rs) > 0 {
				t.Errorf("Expose fails with %d regions", len(rs))
			}
			return append(errs, err)
		}
		for _, err := range try() {
			var op *transport.OpError
			if !errors.Is(err, transport.ErrNoMemory) || !errors.As(err, &op) {
				t.Errorf("got %v, want %v", err, transport.ErrNoMemory)
			}
		}
		if n := counters.NoMemory.Load(); n != 3 {
			t.Errorf("%d refused, want 3", n)
		}
		p.SetWork(faultnet.Work{NoMemory: 0.5})
		refused := 0
		for range 100 {
			for _, err := range try() {
				if err != nil {
					refused++
				}
			}
		}
		if refused < 100 || refused > 200 {
			t.Errorf("%d of 300 refused, want about 150", refused)
		}
	})
}

// TestWorkAbilities: an endpoint has the optional interfaces of the endpoint below.
func TestWorkAbilities(t *testing.T) {
	sides(t, faultnet.ProviderConfig{}, func(t *testing.T, _ *faultnet.Provider, a, b *side) {
		b.Start(b)
		if p, ok := transport.As[transport.Poller](a.Endpoint); !ok {
			t.Error("no Poller")
		} else if _, below := p.(interface{ Unwrap() transport.Endpoint }); !below {
			t.Error("requests can be posted past the faults")
		}
		if _, ok := transport.As[transport.SharedReceiver](a.Endpoint); !ok {
			t.Error("no SharedReceiver")
		}
	})
}

// TestWorkNonsense: invalid arguments cause a panic.
func TestWorkNonsense(t *testing.T) {
	for name, w := range map[string]faultnet.Work{
		"a negative delay": {Delay: -1}, "a probability of 2": {NoMemory: 2},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			faultnet.NewProvider(faultnet.ProviderConfig{Work: w})
		})
	}
}
