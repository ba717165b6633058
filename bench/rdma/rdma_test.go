package rdma

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// inProcess returns the loopback provider of a new fabric.
func inProcess() (Provider, *loopback.Fabric) {
	f := loopback.New()
	return Provider{
		Name: "loopback",
		Listen: func(context.Context, paired.Sockets) (transport.Listener, error) {
			return f.Listen("", loopback.Config{})
		},
		Dialer: func(paired.Sockets) transport.Dialer { return f.Dialer(loopback.Config{}) },
	}, f
}

// setUp opens both ends of s and closes them when the test ends.
func setUp(t *testing.T, s paired.Scenario, f *loopback.Fabric) (paired.Client, *server) {
	t.Helper()
	sv, err := s.Listen(t.Context(), paired.Sockets{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := s.Dial(t.Context(), paired.Sockets{}, sv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error("client:", err)
		}
		if err := sv.Close(); err != nil {
			t.Error("server:", err)
		}
		if slices, bytes := f.Domain().Allocated(); slices != 0 {
			t.Errorf("%d bytes are left in %d allocations", bytes, slices)
		}
	})
	return client, sv.(*server)
}

// base returns the client inside c.
func base(c paired.Client) *client {
	switch c := c.(type) {
	case messages:
		return c.client
	case calls:
		return c.client
	}
	return c.(*bulk).client
}

// runs are numbers of operations: below, at and above 1, 8 and 64, and more than the ring's
// requests.
var runs = []int{1, 7, 8, 9, 63, 64, 65, 300, 1}

func TestMessages(t *testing.T) {
	p, f := inProcess()
	for _, s := range []paired.Scenario{p.PingPong(), p.Calls(), p.Messages()} {
		t.Run(s.Name, func(t *testing.T) {
			c, sv := setUp(t, s, f)
			posted := func() int { // Sends by the server
				sv.sends.mu.Lock()
				defer sv.sends.mu.Unlock()
				return sv.sends.next
			}
			for _, n := range runs {
				var samples []time.Duration
				if s.Metric == paired.Latency {
					samples = make([]time.Duration, n)
				}
				before := posted()
				if err := c.Run(n, samples); err != nil {
					t.Fatal(err)
				}
				if got, want := (posted()-before+10*ringSends)%ringSends, n%ringSends; got != want {
					t.Errorf("%d operations: got %d answers, want %d (modulo %d)", n, got, want, ringSends)
				}
				for i, d := range samples {
					if d <= 0 {
						t.Errorf("%d operations: sample %d is %v", n, i, d)
					}
				}
			}
		})
	}
}

func TestBulk(t *testing.T) {
	p, f := inProcess()
	for _, tt := range []struct {
		s        paired.Scenario
		from, to func(c *client, sv *server) []byte
	}{
		{p.Writes(), clientMemory, serverMemory},
		{p.Reads(), serverMemory, clientMemory},
	} {
		t.Run(tt.s.Name, func(t *testing.T) {
			c, sv := setUp(t, tt.s, f)
			from, to := tt.from(base(c), sv), tt.to(base(c), sv)
			for i, n := range runs {
				for k := range from {
					from[k] = byte(k*7 + i)
				}
				if err := c.Run(n, nil); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(from, to) {
					t.Fatalf("%d operations: the data has not arrived", n)
				}
				if b := c.(*bulk); b.left != 0 || b.pending != 0 {
					t.Errorf("%d operations: %d are left and %d pending", n, b.left, b.pending)
				}
			}
		})
	}
}

func clientMemory(c *client, _ *server) []byte { return c.bulk.Bytes }
func serverMemory(_ *client, s *server) []byte { return s.bulk.Bytes }

func TestAllocs(t *testing.T) {
	p, f := inProcess()
	for _, s := range p.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			c, _ := setUp(t, s, f)
			samples := make([]time.Duration, 100)
			if s.Metric != paired.Latency {
				samples = nil
			}
			got := testing.AllocsPerRun(5, func() {
				if err := c.Run(100, samples); err != nil {
					t.Fatal(err)
				}
			})
			if got > 1 { // the queues may grow once more
				t.Errorf("got %v allocations in 100 operations, want none", got)
			}
		})
	}
}

func TestConnectionEnds(t *testing.T) {
	p, f := inProcess()
	for _, s := range p.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			c, sv := setUp(t, s, f)
			sv.ep.Close()
			<-sv.ep.Done()
			if err := c.Run(1, make([]time.Duration, 1)); err == nil {
				t.Error("a run succeeds without a server")
			}
		})
	}
}

func TestServerWithoutClient(t *testing.T) {
	p, _ := inProcess()
	sv, err := p.PingPong().Listen(t.Context(), paired.Sockets{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sv.Close(); err != nil {
		t.Error(err)
	}
}

func TestNobodyListens(t *testing.T) {
	p, _ := inProcess()
	_, err := p.PingPong().Dial(t.Context(), paired.Sockets{}, "nobody")
	if !errors.Is(err, loopback.ErrRefused) {
		t.Errorf("got error %v, want %v", err, loopback.ErrRefused)
	}
}

func TestListenFails(t *testing.T) {
	p, _ := inProcess()
	want := errors.New("no listening today")
	p.Listen = func(context.Context, paired.Sockets) (transport.Listener, error) { return nil, want }
	if _, err := p.PingPong().Listen(t.Context(), paired.Sockets{}); !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// closable is a dialer with state.
type closable struct {
	transport.Dialer
	open *int
}

func (d closable) Close() error {
	*d.open--
	return nil
}

// TestDialerClosed: a client closes its dialer, and so does a Dial that fails.
func TestDialerClosed(t *testing.T) {
	p, f := inProcess()
	open := 0
	dialer := p.Dialer
	p.Dialer = func(s paired.Sockets) transport.Dialer {
		open++
		return closable{dialer(s), &open}
	}
	s := p.PingPong()
	t.Run("connected", func(t *testing.T) {
		setUp(t, s, f)
		if open != 1 {
			t.Errorf("%d dialers are open, want that of the client", open)
		}
	})
	if _, err := s.Dial(t.Context(), paired.Sockets{}, "nobody"); err == nil {
		t.Error("Dial to nobody succeeded")
	}
	if open != 0 {
		t.Errorf("%d dialers are open, want none", open)
	}
}
