package nfs

import (
	"context"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Ends is what both ends of a scenario have.
type Ends struct {
	rdma.Provider
	// ServerMetrics and ClientMetrics have an end with metrics of all layers (package metrics),
	// which nobody reads.
	ServerMetrics, ClientMetrics bool
}

// many is how many calls are in flight where it is for the rate of small ones.
const many = 64

// Read is NAME/read-SIZExN, Throughput of READs of size bytes, inFlight of them at a time. Its
// yardstick is paired.TCPRead.
func Read(e Ends, size, inFlight int) paired.Scenario {
	return transfer(e, "read", size, inFlight, func(ctx context.Context, c *client, slot int) error {
		r, err := c.nfs.Read(ctx, c.file, uint64(slot*size), c.slots[slot])
		return short(err, r.N, size)
	})
}

// Write is NAME/write-SIZExN, Throughput of unstable WRITEs of size bytes, inFlight of them at a
// time. Its yardstick is paired.TCPWrite.
func Write(e Ends, size, inFlight int) paired.Scenario {
	return transfer(e, "write", size, inFlight, func(ctx context.Context, c *client, slot int) error {
		r, err := c.nfs.Write(ctx, c.file, uint64(slot*size), c.slots[slot], nfs3.Unstable)
		return short(err, r.N, size)
	})
}

func transfer(e Ends, name string, size, inFlight int, call call) paired.Scenario {
	s := scenario(e, call, size, inFlight)
	s.Name = fmt.Sprintf("%s/%s-%dKiBx%d", e.Name, name, size>>10, inFlight)
	s.Metric = paired.Throughput
	return s
}

// short says so when fewer bytes were transferred than size.
func short(err error, n, size int) error {
	if err == nil && n != size {
		return fmt.Errorf("%d bytes of %d", n, size)
	}
	return err
}

// Null is NAME/null, Latency of NULL calls, one at a time. Its yardstick is paired.TCPPingPong.
func Null(e Ends) paired.Scenario { return small(e, "null", 1, null) }

// NullMany is NAME/null-x64, Rate of NULL calls, 64 of them in flight. Its yardstick is
// paired.TCPMessages.
func NullMany(e Ends) paired.Scenario { return small(e, "null-x64", many, null) }

// GetAttr is NAME/getattr, Latency of GETATTR calls, one at a time. Its yardstick is Null.
func GetAttr(e Ends) paired.Scenario { return small(e, "getattr", 1, getAttr) }

// GetAttrMany is NAME/getattr-x64, Rate of GETATTR calls, 64 of them in flight. Its yardstick is
// NullMany.
func GetAttrMany(e Ends) paired.Scenario { return small(e, "getattr-x64", many, getAttr) }

func null(ctx context.Context, c *client, _ int) error { return c.nfs.Null(ctx) }

func getAttr(ctx context.Context, c *client, _ int) error {
	_, err := c.nfs.GetAttr(ctx, c.file)
	return err
}

func small(e Ends, name string, inFlight int, call call) paired.Scenario {
	s := scenario(e, call, 0, inFlight)
	s.Name = e.Name + "/" + name
	s.Metric = paired.Rate
	if inFlight == 1 {
		s.Metric = paired.Latency
	}
	return s
}

// scenario is what the scenarios have in common: a server, and a client with a file of a transfer
// for each call in flight.
func scenario(e Ends, call call, size, inFlight int) paired.Scenario {
	return paired.Scenario{
		Bytes: size,
		Listen: func(ctx context.Context, s paired.Sockets) (paired.Server, error) {
			return serve(ctx, e, s)
		},
		Dial: func(ctx context.Context, s paired.Sockets, addr string) (paired.Client, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return dial(ctx, e, s, addr, call, size, inFlight)
		},
	}
}

const dialTimeout = 10 * time.Second
