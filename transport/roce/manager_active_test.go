package roce

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// TestActive: a connection that this end asks for.
func TestActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayed(t)
		type result struct {
			ep  transport.Endpoint
			err error
		}
		dialled := make(chan result, 1)
		d := Dialer{Config: p.config(Config{IRD: 3, ORD: 16})}
		go func() {
			ep, err := d.Dial(t.Context(), "192.0.2.1:20049", transport.Private([]byte("hello")))
			dialled <- result{ep, err}
		}()
		synctest.Wait()
		req, ok := first(p.answer()).(*cm.REQ)
		if !ok {
			t.Fatal("no REQ")
		}
		ip, upper, err := cm.ParseIP(req.Private)
		if err != nil || ip.Src != ourIP || ip.Dst != theirIP || string(upper[:5]) != "hello" {
			t.Errorf("private data %+v, %q, %v", ip, upper, err)
		}
		p.same("REQ", req, &cm.REQ{
			CommID: req.CommID, ServiceID: cm.ServiceID(20049), CAGUID: req.CAGUID, QP: req.QP,
			ResponderResources: 3, InitiatorDepth: 16, RemoteTimeout: 20, LocalTimeout: 20,
			PSN: req.PSN, RetryCount: 7, RNRRetry: 7, MaxCMRetries: 15, AckTimeout: 18, PKey: 0xFFFF,
			MTU: 3, LocalLID: 0xFFFF, RemoteLID: 0xFFFF, LocalGID: ourIP, RemoteGID: theirIP,
			HopLimit: 64, Private: req.Private,
		})
		time.Sleep(201 * time.Millisecond)
		synctest.Wait()
		p.same("REQ again", first(p.answer()), req)
		p.says(theirIP, &cm.MRA{Local: 9, Remote: req.CommID, ServiceTimeout: 20}, 1)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if got := first(p.answer()); got != nil {
			t.Errorf("an MRA for 4.3 s, and then %+v", got)
		}
		rep := &cm.REP{
			Local: 9, Remote: req.CommID, QP: 0x222222, PSN: 5, ResponderResources: 2,
			InitiatorDepth: 8, RNRRetry: 6, Private: []byte("welcome"),
		}
		stray := *rep
		stray.Remote++
		p.says(theirIP, &stray, 6)
		rej, ok := first(p.answer()).(*cm.REJ)
		if !ok || rej.Reason != cm.InvalidCommID || rej.About != cm.AboutREP {
			t.Errorf("a REP of no connection was answered with %+v", rej)
		}
		want := &cm.RTU{Local: req.CommID, Remote: 9, Private: make([]byte, cm.RTUPrivateLen)}
		p.says(theirIP, rep, 6)
		p.same("RTU", first(p.answer()), want)
		p.says(theirIP, rep, 6)
		p.same("RTU again", first(p.answer()), want)
		r := <-dialled
		if r.err != nil {
			t.Fatal(r.err)
		}
		if i := r.ep.Info(); i.IRD != 3 || i.ORD != 2 {
			t.Errorf("IRD %d, ORD %d; want 3 and 2", i.IRD, i.ORD)
		}
		p.says(theirIP, &cm.REJ{Local: 9, Remote: req.CommID, Reason: cm.StaleConnection}, 6)
		<-r.ep.Done()
		if !errors.Is(r.ep.Err(), transport.ErrClosedByPeer) {
			t.Errorf("ended with %v", r.ep.Err())
		}
		time.Sleep(time.Minute)
	})
}

// TestDialRefused: the meaning of a REJ, and the REJ sent when a dial is given up.
func TestDialRefused(t *testing.T) {
	for reason, want := range map[cm.Reason]error{
		cm.InvalidService: ErrRefused, cm.ConsumerDefined: new(transport.RejectError),
		cm.InvalidMTU: new(transport.RejectError), 0: ErrPeerTimeout,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlayed(t)
			failed := make(chan error, 1)
			d := Dialer{Config: p.config(Config{})}
			go func() {
				_, err := d.Dial(t.Context(), "192.0.2.1:20049", nil)
				failed <- err
			}()
			synctest.Wait()
			req := first(p.answer()).(*cm.REQ)
			if reason == 0 {
				time.Sleep(DefaultSetupTimeout)
			} else {
				p.says(theirIP, &cm.REJ{Remote: req.CommID, Reason: reason}, 1)
			}
			err := <-failed
			var rejected *transport.RejectError
			if _, ok := want.(*transport.RejectError); ok != errors.As(err, &rejected) ||
				!ok && !errors.Is(err, want) {
				t.Errorf("%v: got %v, want %v", reason, err, want)
			}
			if reason != 0 {
				return
			}
			synctest.Wait()
			all := p.heard()
			m, _, _ := cm.Parse(all[len(all)-1].Payload)
			if rej, ok := m.(*cm.REJ); !ok || rej.Reason != cm.Timeout || rej.Local != req.CommID {
				t.Errorf("%d packets, the last is %+v", len(all), m)
			}
		})
	}
}
