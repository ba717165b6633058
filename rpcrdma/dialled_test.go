package rpcrdma_test

import (
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// countingDomain counts the requests for memory.
type countingDomain struct {
	loopback.Domain
	asked atomic.Int32
}

func (d *countingDomain) Alloc(n int, access transport.Access) (transport.Slice, error) {
	d.asked.Add(1)
	return d.Domain.Alloc(n, access)
}

// ownDomain is an endpoint with its own domain.
type ownDomain struct {
	transporttest.FullEndpoint
	domain transport.Domain
}

func (e ownDomain) Domain() transport.Domain { return e.domain }

// The connections of Dial share the pool of their domain, as long as one of them is there.
func TestDialledShare(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	one, other := new(countingDomain), new(countingDomain)
	dial := func(d transport.Domain) *rpcrdma.Conn {
		t.Helper()
		c := r.dialOn(rpcrdma.Config{}, func(ep transport.Endpoint) transport.Endpoint {
			return ownDomain{ep.(transporttest.FullEndpoint), d}
		})
		t.Cleanup(func() {
			c.Close()
			hang.Receive(t, "the end of the connection", c.Done())
		})
		return c
	}
	// asks makes a call, and returns how often the domain was asked for memory.
	asks := func(c *rpcrdma.Conn, d *countingDomain) int {
		t.Helper()
		before := d.asked.Load()
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Fatal(err)
		}
		return int(d.asked.Load() - before)
	}
	first, second, third := dial(one), dial(one), dial(other)
	if asks(first, one) == 0 {
		t.Fatal("a first call takes no memory")
	}
	first.Close()
	hang.Receive(t, "the end of the connection", first.Done())
	if n := asks(second, one); n != 0 {
		t.Errorf("a connection asks for memory %d times that another of the domain has left", n)
	}
	if asks(third, other) == 0 {
		t.Error("a pool is shared whose memory is another")
	}
	second.Close()
	hang.Receive(t, "the end of the connection", second.Done())
	if n, size := one.Allocated(); n != 0 {
		t.Errorf("the last connection of a domain has left %d pieces of memory, %d bytes", n, size)
	}
	if asks(dial(one), one) == 0 {
		t.Error("a pool is used that is closed")
	}
}
