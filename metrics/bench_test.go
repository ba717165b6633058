package metrics_test

import (
	"context"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// answering is a Transport that answers every call at once.
type answering struct{ oncrpc.Transport }

var accepted = make([]byte, 24)

func (answering) RemoteAddr() net.Addr { return nil }

func (answering) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	x.SetReply(accepted, nil, nil)
	return nil
}

func init() { accepted[7] = 1 } // a reply

// BenchmarkMakeCall measures the cost of metrics for a client's call.
func BenchmarkMakeCall(b *testing.B) {
	for _, tt := range []struct {
		name string
		each []oncrpc.ClientInterceptor
	}{
		{"without", nil},
		{"with", []oncrpc.ClientInterceptor{metrics.New().MakeCall}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			c := oncrpc.NewClient(answering{}, 400_000, 1, oncrpc.AuthNone(), tt.each...)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Call(b.Context(), 0, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// incoming is a call of procedure 0 that can be served repeatedly.
type incoming struct {
	dec  xdr.Decoder
	call []byte
}

func (in *incoming) Message() *xdr.Decoder    { return &in.dec }
func (in *incoming) Ready() bool              { return true }
func (in *incoming) Context() context.Context { return context.Background() }
func (in *incoming) Conn() oncrpc.Transport   { return answering{} }
func (in *incoming) Reply(m xdr.Message)      { m.Release() }
func (in *incoming) Drop()                    {}

// BenchmarkServeCall measures the cost of metrics for a server's call.
func BenchmarkServeCall(b *testing.B) {
	for _, tt := range []struct {
		name string
		each []oncrpc.ServerInterceptor
	}{
		{"without", nil},
		{"with", []oncrpc.ServerInterceptor{metrics.New().ServeCall}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			srv := oncrpc.NewServer(oncrpc.ServerConfig{Interceptors: tt.each, Logger: quiet})
			if err := srv.Handle(oncrpc.Program{Number: 400_000, Version: 1}); err != nil {
				b.Fatal(err)
			}
			d := oncrpc.DispatcherOf(srv)
			in := &incoming{call: make([]byte, 40)}
			for i, w := range []uint32{1, 0, 2, 400_000, 1, 0} {
				in.call[4*i+3], in.call[4*i+2], in.call[4*i+1] = byte(w), byte(w>>8), byte(w>>16)
			}
			b.ReportAllocs()
			for b.Loop() {
				in.dec.Reset(in.call, nil)
				d.Dispatch(in)
			}
			if s := srv.Stats(); s.Errors+s.Dropped > 0 {
				b.Fatalf("%+v", s)
			}
		})
	}
}
