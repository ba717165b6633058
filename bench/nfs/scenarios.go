package nfs

import (
	"context"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Ends configures both ends of a scenario.
type Ends struct {
	rdma.Provider
	// ServerMetrics and ClientMetrics turn on metrics of all layers (package metrics) at an end.
	// Nothing scrapes them.
	ServerMetrics, ClientMetrics bool
}

// many is the number of small calls in flight in scenarios that measure their rate.
const many = 64

// Read returns the Throughput scenario NAME/read-SIZExN: READs of size bytes, inFlight at a time.
// Its yardstick is paired.TCPRead.
func Read(e Ends, size, inFlight int) paired.Scenario {
	return transfer(e, "read", size, inFlight, func(ctx context.Context, c *client, slot int) error {
		r, err := c.nfs.Read(ctx, c.file, uint64(slot*size), c.slots[slot])
		return short(err, r.N, size)
	})
}

// Write returns the Throughput scenario NAME/write-SIZExN: unstable WRITEs of size bytes, inFlight
// at a time. Its yardstick is paired.TCPWrite.
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

// short returns an error if fewer than size bytes were transferred.
func short(err error, n, size int) error {
	if err == nil && n != size {
		return fmt.Errorf("%d bytes of %d", n, size)
	}
	return err
}

// Null returns the Latency scenario NAME/null: NULL calls, one at a time. Its yardstick is
// paired.TCPPingPong.
func Null(e Ends) paired.Scenario { return small(e, "null", 1, null) }

// NullMany returns the Rate scenario NAME/null-x64: NULL calls, 64 in flight. Its yardstick is
// paired.TCPMessages.
func NullMany(e Ends) paired.Scenario { return small(e, "null-x64", many, null) }

// GetAttr returns the Latency scenario NAME/getattr: GETATTR calls, one at a time. Its yardstick is
// Null.
func GetAttr(e Ends) paired.Scenario { return small(e, "getattr", 1, getAttr) }

// GetAttrMany returns the Rate scenario NAME/getattr-x64: GETATTR calls, 64 in flight. Its
// yardstick is NullMany.
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

// scenario returns a scenario with the common server, and a client whose file has size bytes for
// each call in flight.
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
