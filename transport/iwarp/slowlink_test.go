package iwarp_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestSlowLink sends a Send, an RDMA Write and an RDMA Read over a link of 10 kbit/s, in segments
// of the maximum size. Each takes longer than StallTimeout, and none counts as stalled.
func TestSlowLink(t *testing.T) {
	for _, size := range []int{5_000, 300_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way := faultnet.Way{Bandwidth: 10_000 / 8, Delay: 150 * time.Millisecond}
				network := faultnet.NewMemory(faultnet.Config{Up: way, Down: way})
				below, err := network.Listen("10.0.0.1:20049")
				if err != nil {
					t.Fatal(err)
				}
				cfg := pipeConfig()
				listener, err := iwarp.NewListener(below, cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
				accepted := make(chan transport.Endpoint, 1)
				go func() {
					r, err := listener.Accept(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					ep, err := r.Accept(t.Context(), nil)
					if err != nil {
						t.Error(err)
					}
					accepted <- ep
				}()
				d := iwarp.Dialer{Config: cfg, DialContext: network.Dialer("10.0.0.2")}
				ep, err := d.Dial(t.Context(), "10.0.0.1:20049", nil)
				if err != nil {
					t.Fatal(err)
				}
				a, b := newLocal(t, ep), newLocal(t, <-accepted)
				in := make([]byte, size)
				if err := b.PostRecv(&transport.RecvRequest{Local: slices(in)}); err != nil {
					t.Fatal(err)
				}
				a.start()
				b.start()
				source, sink, got := pattern(size), make([]byte, size), make([]byte, size)
				from := b.expose(transport.RemoteRead, source)
				to := b.expose(transport.RemoteWrite, sink)
				a.post(
					&transport.WorkRequest{Op: transport.OpWrite, Local: slices(source),
						Remote: transport.Remote{STag: to.STag, Offset: to.Base}},
					&transport.WorkRequest{Op: transport.OpSend, Local: slices(source)},
					&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled, Local: slices(got),
						Remote: transport.Remote{STag: from.STag, Offset: from.Base}})
				began := time.Now()
				if err := <-a.completions; err != nil {
					t.Fatal(err)
				}
				if took, least := time.Since(began), 3*time.Duration(size)*time.Second/1250; took < least {
					t.Errorf("all took %v, want %v at least: this is no slow link", took, least)
				}
				if m := <-b.messages; m != string(source) {
					t.Error("the message is not what was sent")
				}
				if !bytes.Equal(sink, source) || !bytes.Equal(got, source) {
					t.Error("what was written or read is not what it was")
				}
				a.Close()
				<-b.Done()
				time.Sleep(time.Minute)
			})
		})
	}
}
