package iwarp_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

func init() {
	for _, p := range []rdma.Provider{
		provider("iwarp", iwarp.Config{CRC: iwarp.CRCOff}),
		provider("iwarp+crc", iwarp.Config{CRC: iwarp.CRCOn}),
		provider("iwarp+markers", iwarp.Config{CRC: iwarp.CRCOff, Markers: mpa.MarkersOn}),
		provider("iwarp+markers+crc", iwarp.Config{CRC: iwarp.CRCOn, Markers: mpa.MarkersOn}),
	} {
		for _, s := range p.Scenarios() {
			paired.Register(s)
		}
	}
}

// provider is this provider, with both ends set to cfg.
func provider(name string, cfg iwarp.Config) rdma.Provider {
	config := func(s paired.Sockets) iwarp.Config {
		cfg := cfg
		cfg.Control = s.Control
		return cfg
	}
	return rdma.Provider{
		Name: name,
		Listen: func(ctx context.Context, s paired.Sockets) (transport.Listener, error) {
			return iwarp.Listen(ctx, "127.0.0.1:0", config(s))
		},
		Dialer: func(s paired.Sockets) transport.Dialer {
			return iwarp.Dialer{Config: config(s)}
		},
	}
}

// comparisons are the scenarios with their minimum ratios. The goals are higher: Writes and Reads
// 0.93, with CRC 0.55; the ping-pong 1.1; Messages 5. The cost of markers is measured without a
// minimum.
var comparisons = []paired.Comparison{
	{Yardstick: paired.TCPStream, Candidate: "iwarp/writes", Bound: 0.85, MaxAllocs: 0.05},
	{Yardstick: paired.TCPStream, Candidate: "iwarp+crc/writes", Bound: 0.48, MaxAllocs: 0.05},
	{Yardstick: paired.TCPRequests, Candidate: "iwarp/reads", Bound: 0.85, MaxAllocs: 0.05},
	{Yardstick: paired.TCPRequests, Candidate: "iwarp+crc/reads", Bound: 0.48, MaxAllocs: 0.05},
	{Yardstick: paired.TCPPingPong, Candidate: "iwarp/pingpong", Bound: 1.3, MaxAllocs: 0.05},
	{Yardstick: paired.TCPPingPong, Candidate: "iwarp/calls"},
	{Yardstick: paired.TCPMessages, Candidate: "iwarp/messages", Bound: 1, MaxAllocs: 0.05},
	{Yardstick: paired.TCPMessagesBatched, Candidate: "iwarp/messages"},
	{Yardstick: paired.TCPStream, Candidate: "iwarp+markers/writes"},
	{Yardstick: paired.TCPStream, Candidate: "iwarp+markers+crc/writes"},
	{Yardstick: paired.TCPRequests, Candidate: "iwarp+markers/reads"},
	{Yardstick: paired.TCPPingPong, Candidate: "iwarp+markers/pingpong"},
	{Yardstick: paired.TCPMessages, Candidate: "iwarp+markers/messages"},
}

// BenchmarkPaired compares the provider with raw TCP, in two processes; see package paired.
//
//	go test -run '^$' -bench Paired -benchtime 1x ./transport/iwarp
func BenchmarkPaired(b *testing.B) { paired.Bench(b, comparisons...) }

// TestPaired fails below the bounds, if BENCH_GATE is set.
func TestPaired(t *testing.T) { paired.Gate(t, comparisons...) }
