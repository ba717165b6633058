package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// arrivals signals messages.
type arrivals chan int

func (a arrivals) Received(batch []transport.Message) { a <- len(batch) }

// ignored ignores completions.
type ignored struct{}

func (ignored) Complete(*transport.WorkRequest, error) {}

// TestTrafficOf: a Send of 100 bytes is one FPDU, which both ends count: 2 bytes of length, 18 of
// header (RFC 5041 section 4.3), 4 of CRC, and with markers one of 4 bytes before it.
func TestTrafficOf(t *testing.T) {
	for _, tt := range []struct {
		name    string
		markers mpa.Markers
		want    uint64
	}{{"plain", mpa.MarkersAuto, 124}, {"with a marker", mpa.MarkersOn, 128}} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: quiet, Markers: tt.markers})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			accepted := make(chan transport.Endpoint, 1)
			go func() {
				req, err := l.Accept(t.Context())
				if err != nil {
					close(accepted)
					return
				}
				ep, _ := req.Accept(t.Context(), nil)
				accepted <- ep
			}()
			near, err := iwarp.Dialer{Config: iwarp.Config{Logger: quiet, NudgeAfter: -1}}.Dial(t.Context(), l.Addr().String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			far := <-accepted
			defer func() {
				near.Close()
				<-near.Done()
				<-far.Done()
			}()
			check := func(who string, ep transport.Endpoint, wantSent, wantReceived uint64) {
				t.Helper()
				if sent, received, ok := iwarp.TrafficOf(ep); sent != wantSent || received != wantReceived || !ok {
					t.Errorf("%s: got %d bytes sent, %d received, %t, want %d, %d", who, sent, received, ok, wantSent, wantReceived)
				}
			}
			check("before", near, 0, 0)
			s, err := near.Domain().Alloc(100, transport.LocalWrite)
			if err != nil {
				t.Fatal(err)
			}
			arrived := make(arrivals, 1)
			if err := far.PostRecv(&transport.RecvRequest{Local: []transport.Slice{s}}); err != nil {
				t.Fatal(err)
			}
			far.Start(arrived)
			near.Start(make(arrivals))
			if err := near.Post(&transport.WorkRequest{Op: transport.OpSend, Local: []transport.Slice{s}, Done: ignored{}}); err != nil {
				t.Fatal(err)
			}
			hang.Receive(t, "the message", arrived)
			check("the sender", near, tt.want, 0)
			check("the receiver", far, 0, tt.want)
		})
	}
	f := loopback.New()
	if l, err := f.Listen("x", loopback.Config{}); err == nil {
		go func() {
			if req, err := l.Accept(t.Context()); err == nil {
				req.Accept(t.Context(), nil)
			}
		}()
	}
	ep, err := f.Dialer(loopback.Config{}).Dial(t.Context(), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	if _, _, ok := iwarp.TrafficOf(ep); ok {
		t.Error("an endpoint of another provider: got true")
	}
}
