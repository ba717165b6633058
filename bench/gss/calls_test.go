package gss

import (
	"context"
	"log/slog"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// inProcess is the loopback provider.
func inProcess() Carrier {
	f := loopback.New()
	return RDMA(rdma.Provider{
		Name: "loopback",
		Listen: func(context.Context, paired.Sockets) (transport.Listener, error) {
			return f.Listen("", loopback.Config{})
		},
		Dialer: func(paired.Sockets) transport.Dialer { return f.Dialer(loopback.Config{}) },
	})
}

// BenchmarkCall makes calls within one process. Allocations are those of both ends. Transfers of 1
// KiB travel inline, transfers of 64 KiB by chunks.
func BenchmarkCall(b *testing.B) {
	for _, ca := range []Carrier{inProcess(), TCP()} {
		for _, f := range []Flavor{Sys, Krb5, Krb5i, Krb5p} {
			for _, s := range []paired.Scenario{
				Null(ca, f), Read(ca, f, kib, 1), Write(ca, f, kib, 1),
				Read(ca, f, 64*kib, 1), Write(ca, f, 64*kib, 1),
			} {
				b.Run(s.Name, func(b *testing.B) { calls(b, s) })
			}
		}
	}
}

func calls(b *testing.B, s paired.Scenario) {
	// The server's log lines would break up the benchmark's output.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	sv, err := s.Listen(b.Context(), paired.Sockets{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := s.Dial(b.Context(), paired.Sockets{}, sv.Addr())
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Run(200, nil); err != nil { // a call rests before it is reused
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(s.Bytes))
	b.ResetTimer()
	if err := c.Run(b.N, nil); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
	if err := sv.Close(); err != nil {
		b.Fatal(err)
	}
}
