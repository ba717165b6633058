package gss_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// BenchmarkCall measures a call and its reply without network and cryptography: the cost of the
// flavour itself.
func BenchmarkCall(b *testing.B) {
	for _, service := range []gss.Service{gss.None, gss.Integrity, gss.Privacy} {
		for _, size := range []int{4, 64 << 10, 512 << 10} {
			b.Run(fmt.Sprintf("%v/%d", service, size), func(b *testing.B) {
				m := &plain{}
				s, _ := newServer(b, gss.ServerConfig{Acceptor: m}, oncrpc.Program{
					Number: 1, Version: 1, Procedures: []oncrpc.Procedure{1: {Handler: opaqueBack}}})
				f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server", Service: service})
				c := oncrpc.NewClient(newDirect(s), 1, 1, f)
				args := &block{data: make([]byte, size)}
				ctx := b.Context()
				r := oncrpc.Request{Procedure: 1, Args: args, Reply: &block{}, MaxReply: 4 + size}
				call := func() {
					if err := c.Do(ctx, &r); err != nil {
						b.Fatal(err)
					}
				}
				for range 100 { // calls rest before they are used again
					call()
				}
				b.ReportAllocs()
				b.SetBytes(int64(2 * size))
				for b.Loop() {
					call()
				}
			})
		}
	}
}

// block is data, as arguments and results.
type block struct{ data []byte }

func (b *block) MarshalXDR(e *xdr.Encoder)   { e.Opaque(b.data, 1<<20) }
func (b *block) UnmarshalXDR(d *xdr.Decoder) { b.data = d.Opaque(1 << 20) }

func opaqueBack(_ context.Context, c *oncrpc.Call) error {
	c.Results.BulkBytes(c.Args.Opaque(1<<20), nil)
	return nil
}

// direct is a connection without a network, for one call at a time. It reuses its memory.
type direct struct {
	*peer
	in    directCall
	call  []byte
	reply []byte
}

func newDirect(s *oncrpc.Server) *direct {
	d := &direct{peer: newPeer(1, s)}
	d.in = directCall{d: d, done: make(chan struct{}, 1)}
	return d
}

func (d *direct) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	if err := x.Seal(1); err != nil {
		return err
	}
	d.call = x.Call.AppendTo(d.call[:0])
	d.in.decoder.Reset(d.call, nil)
	oncrpc.DispatcherOf(d.s.Load()).Dispatch(&d.in)
	<-d.in.done
	x.SetReply(d.reply, nil, nil)
	return nil
}

type directCall struct {
	d       *direct
	decoder xdr.Decoder
	done    chan struct{}
}

func (in *directCall) Message() *xdr.Decoder    { return &in.decoder }
func (in *directCall) Ready() bool              { return true }
func (in *directCall) Context() context.Context { return context.Background() }
func (in *directCall) Conn() oncrpc.Transport   { return in.d }
func (in *directCall) Drop()                    { in.d.reply = nil; in.done <- struct{}{} }
func (in *directCall) Reply(m xdr.Message) {
	in.d.reply = m.AppendTo(in.d.reply[:0])
	m.Release()
	in.done <- struct{}{}
}
