package roce

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestSeveralAddresses dials a host at its second address: what was prepared before the first is
// used.
func TestSeveralAddresses(t *testing.T) {
	hub := NewHub(t)
	nobody, there := netip.MustParseAddr("192.0.2.200"), netip.MustParseAddr("192.0.2.1")
	cfg := Config{Logger: slog.New(slog.DiscardHandler)}
	l, err := Listen(t.Context(), "192.0.2.1:20049", hub.On(there, cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan transport.Endpoint, 1)
	go func() {
		defer close(accepted)
		req, err := l.Accept(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		ep, err := req.Accept(context.Background(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- ep
	}()
	from, err := hub.On(netip.MustParseAddr("192.0.2.9"), cfg).withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	e := newEndpoint(from, transport.Info{})
	receive := &transport.RecvRequest{Local: []transport.Slice{{Bytes: make([]byte, 16)}}}
	if err := e.PostRecv(receive); err != nil {
		t.Fatal(err)
	}
	if err := e.dialOne(t.Context(), []netip.Addr{nobody, there}, 20049, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := e.Info().RemoteAddr, (Addr{there, 20049}); got != want {
		t.Errorf("connected to %v, want %v", got, want)
	}
	arrived := make(receives, 1)
	e.Start(arrived)
	peer := <-accepted
	peer.Start(make(receives, 1))
	send := &transport.WorkRequest{Op: transport.OpSend, Done: ignored{}}
	if err := peer.Post(send); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-arrived:
		if got != receive {
			t.Error("the message has another receive")
		}
	case <-e.Done():
		t.Error(e.Err())
	}
	e.Close()
	<-e.Done()
	<-peer.Done()
}

// receives are those of the delivered messages.
type receives chan *transport.RecvRequest

func (r receives) Received(batch []transport.Message) {
	for _, m := range batch {
		r <- m.Receive
	}
}

type ignored struct{}

func (ignored) Complete(*transport.WorkRequest, error) {}
