package iwarp_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestTurns sends small messages on a slow link while responses to RDMA Reads wait. All messages
// follow the current response, rather than each following another response.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reads, size, messages = 10, 256 << 10, 8
		way := faultnet.Way{Bandwidth: 1 << 20} // a response takes a quarter of a second
		m := faultnet.NewMemory(faultnet.Config{Up: way, Down: way})
		below, err := m.Listen("10.0.0.1:20049")
		if err != nil {
			t.Fatal(err)
		}
		l, err := iwarp.NewListener(below, pipeConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		accepted := make(chan *local, 1)
		go func() {
			req, err := l.Accept(t.Context())
			if err != nil {
				t.Error(err)
			}
			ep, err := req.Accept(t.Context(), nil)
			if err != nil {
				t.Error(err)
			}
			accepted <- newLocal(t, ep)
		}()
		d := iwarp.Dialer{Config: pipeConfig(), DialContext: m.Dialer("10.0.0.2")}
		ep, err := d.Dial(t.Context(), "10.0.0.1:20049", nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := newLocal(t, ep).start(), <-accepted
		b.receives(messages)
		b.start()
		window := a.expose(transport.RemoteRead, make([]byte, size))
		a.send("the first message is the dialing end's")
		for range reads {
			b.post(&transport.WorkRequest{
				Op: transport.OpRead, Flags: transport.Signaled, Done: b,
				Local:  slices(make([]byte, size)),
				Remote: transport.Remote{STag: window.STag, Offset: window.Base},
			})
		}
		time.Sleep(300 * time.Millisecond) // the second response is under way
		for range messages - 1 {
			a.send("a small message")
		}
		for range messages {
			<-b.messages
		}
		if n := len(b.completions); n > 4 {
			t.Errorf("%d RDMA Reads were answered before the last message came, want 4 at most", n)
		}
		for range reads {
			if err := <-b.completions; err != nil {
				t.Error(err)
			}
		}
		a.Close()
		b.Close()
		<-a.Done()
		<-b.Done()
		time.Sleep(time.Hour) // the connections wait for each other for a while
	})
}
