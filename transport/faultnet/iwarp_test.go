package faultnet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestIWARP runs iWARP in virtual time. Setup takes two round trips, and a message half of one. A
// connection whose peer has vanished stays up until one end notices.
func TestIWARP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const oneWay = 150 * time.Millisecond
		way := faultnet.Way{Delay: oneWay}
		m := faultnet.NewMemory(faultnet.Config{Up: way, Down: way})
		below, err := m.Listen("10.0.0.1:20049")
		if err != nil {
			t.Fatal(err)
		}
		cfg := iwarp.Config{Logger: quiet, NudgeAfter: -1}
		l, err := iwarp.NewListener(below, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		accepted := make(chan transport.Endpoint)
		go func() {
			req, err := l.Accept(t.Context())
			if err != nil {
				t.Error(err)
			}
			ep, err := req.Accept(t.Context(), nil)
			if err != nil {
				t.Error(err)
			}
			accepted <- ep
		}()
		began := time.Now()
		d := iwarp.Dialer{Config: cfg, DialContext: m.Dialer("10.0.0.2")}
		ep, err := d.Dial(t.Context(), "10.0.0.1:20049", nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 4*oneWay {
			t.Errorf("Dial took %v, want %v", took, 4*oneWay)
		}
		a, b := &side{ep, make(chan any, 10)}, &side{<-accepted, make(chan any, 10)}
		a.Start(a)
		b.receives(t, 1)
		b.Start(b)
		began = time.Now()
		if err := a.Post(a.sends(1, 0)...); err != nil {
			t.Fatal(err)
		}
		if got := <-b.events; got != "a" {
			t.Errorf("received %q", got)
		}
		if took := time.Since(began); took != oneWay {
			t.Errorf("a message took %v, want %v", took, oneWay)
		}
		m.Links()[0].Vanish(faultnet.DialingEnd)
		<-a.Done()
		time.Sleep(time.Hour)
		if err := b.Err(); err != nil {
			t.Errorf("the other end has been told: %v", err)
		}
		b.Close()
		<-b.Done()
		time.Sleep(time.Hour) // the connection also waits a while for the peer to close
	})
}
