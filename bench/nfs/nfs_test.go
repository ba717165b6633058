package nfs

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// inProcess returns the loopback provider of a new fabric.
func inProcess() Ends {
	f := loopback.New()
	return Ends{Provider: rdma.Provider{
		Name: "loopback",
		Listen: func(context.Context, paired.Sockets) (transport.Listener, error) {
			return f.Listen("", loopback.Config{})
		},
		Dialer: func(paired.Sockets) transport.Dialer { return f.Dialer(loopback.Config{}) },
	}}
}

// setUp opens both ends of s and closes them when the test ends.
func setUp(t *testing.T, s paired.Scenario) *client {
	t.Helper()
	sv, err := s.Listen(t.Context(), paired.Sockets{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sv.Close(); err != nil {
			t.Error("server:", err)
		}
	})
	c, err := s.Dial(t.Context(), paired.Sockets{}, sv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error("client:", err)
		}
	})
	return c.(*client)
}

const testSize = 5000

// TestMetrics: both ends with metrics work like those without.
func TestMetrics(t *testing.T) {
	e := inProcess()
	e.ServerMetrics, e.ClientMetrics = true, true
	if err := setUp(t, Read(e, testSize, 3)).Run(10, nil); err != nil {
		t.Error(err)
	}
}

// TestRead checks that each slot reads its own part.
func TestRead(t *testing.T) {
	c := setUp(t, Read(inProcess(), testSize, 3))
	want := make([][]byte, len(c.slots))
	for i, b := range c.slots {
		want[i] = bytes.Clone(b)
		clear(b)
	}
	if err := c.Run(7, nil); err != nil {
		t.Fatal(err)
	}
	for i, b := range c.slots {
		// Some slots may be unused: the first may take all calls.
		if !bytes.Equal(b, want[i]) && !bytes.Equal(b, make([]byte, testSize)) {
			t.Errorf("slot %d holds something else than the file", i)
		}
	}
}

// TestWrite checks that the file holds what each slot wrote.
func TestWrite(t *testing.T) {
	c := setUp(t, Write(inProcess(), testSize, 1))
	for i := range c.slots[0] {
		c.slots[0][i] = byte(i * 3)
	}
	if err := c.Run(2, nil); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, testSize)
	if r, err := c.nfs.Read(t.Context(), c.file, 0, got); err != nil || r.N != testSize {
		t.Fatalf("got %d bytes and error %v", r.N, err)
	}
	if !bytes.Equal(got, c.slots[0]) {
		t.Error("the file does not hold what was written")
	}
}

func TestSmall(t *testing.T) {
	p := inProcess()
	for _, s := range []paired.Scenario{Null(p), GetAttr(p), NullMany(p), GetAttrMany(p)} {
		t.Run(s.Name, func(t *testing.T) {
			c := setUp(t, s)
			var samples []time.Duration
			if s.Metric == paired.Latency {
				samples = make([]time.Duration, 20)
			}
			if err := c.Run(20, samples); err != nil {
				t.Fatal(err)
			}
			for i, d := range samples {
				if d <= 0 {
					t.Errorf("sample %d is %v", i, d)
				}
			}
		})
	}
}

// TestServerGone checks that a run fails if its server has ended.
func TestServerGone(t *testing.T) {
	p := inProcess()
	s := Read(p, testSize, 2)
	sv, err := s.Listen(t.Context(), paired.Sockets{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Dial(t.Context(), paired.Sockets{}, sv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(3, nil); err == nil {
		t.Error("a run succeeds without a server")
	}
}
