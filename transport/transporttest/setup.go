package transporttest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

const (
	tooMuchPrivateData = 64 << 10

	// soon is after how long the suite stops something that should be waiting by then. If it does
	// not wait yet, because the machine is slow, the outcome is the same.
	soon = 20 * time.Millisecond
)

var setupTests = []struct {
	name string
	asks bool // something is exchanged in the setup
	run  func(r *rig)
}{
	{"info", false, setupInfo},
	{"private data", true, setupPrivateData},
	{"private data too long", true, setupPrivateDataTooLong},
	{"reject", true, setupReject},
	{"dial unprepared", false, setupDialUnprepared},
	{"accept unprepared", false, setupAcceptUnprepared},
	{"goroutine ended in a preparation", false, setupGoexit},
	{"dial to nobody", false, setupNobody},
	{"dial cancelled", true, setupDialCancelled},
	{"dial with a cancelled context", false, setupDialDead},
	{"accept cancelled", false, setupAcceptCancelled},
	{"listener close", false, setupListenerClose},
	{"listener close with a dial pending", true, setupListenerCloseDial},
	{"many connections", false, setupMany},
}

func setupInfo(r *rig) {
	p := r.connect().start()
	a, b := p.a.Info(), p.b.Info()
	for _, i := range []transport.Info{a, b} {
		switch {
		case i.Provider == "":
			r.t.Errorf("no provider in %+v", i)
		case i.LocalAddr == nil || i.RemoteAddr == nil:
			r.t.Fatalf("an address is missing in %+v", i)
		case i.SendDepth <= 0 || i.RecvDepth <= 0:
			r.t.Errorf("no depth in %+v", i)
		case i.IRD < 0 || i.ORD < 0:
			r.t.Errorf("an impossible limit of reads in %+v", i)
		}
	}
	if domains := map[transport.Domain]bool{p.a.Domain(): true}; !domains[p.a.Domain()] {
		r.t.Error("the Domain is not equal to itself")
	}
	if a.ORD > b.IRD || b.ORD > a.IRD {
		r.t.Errorf("an ORD exceeds the peer's IRD: %+v, %+v", a, b)
	}
	if !r.f.Relayed &&
		(a.LocalAddr.String() != b.RemoteAddr.String() ||
			a.RemoteAddr.String() != b.LocalAddr.String()) {
		r.t.Errorf("the ends disagree about their addresses: %+v, %+v", a, b)
	}
	if r.listener.Addr() == nil {
		r.t.Error("the listener has no address")
	}
	p.alive()
}

func setupPrivateData(r *rig) {
	n := r.dialer.MaxPrivateData()
	m, _ := r.listener.MaxPrivateReply()
	for _, size := range [][2]int{{0, 0}, {0, m}, {n, 0}, {min(1, n), m}, {n, m}} {
		dialer, listener := pattern(size[0], 1), pattern(size[1], 2)
		want := [2][]byte{pattern(size[0], 1), pattern(size[1], 2)}
		p := r.connectWith(private(dialer), private(listener))
		clear(dialer) // the caller's again
		clear(listener)
		wantPrivate(r.t, "private data at the listening end", p.b.Info().PrivateData, want[0])
		wantPrivate(r.t, "private data at the dialing end", p.a.Info().PrivateData, want[1])
	}
}

// wantPrivate checks private data that has arrived, which may be padded with zeros.
func wantPrivate(t *testing.T, what string, got, want []byte) {
	t.Helper()
	n := min(len(want), len(got))
	wantBytes(t, what, got[:n], want)
	wantBytes(t, what+": padding", got[n:], make([]byte, len(got)-n))
}

func setupPrivateDataTooLong(r *rig) {
	ctx := patient(r.t)
	d := wait(r.t, "Dial", r.dial(ctx, private(make([]byte, tooMuchPrivateData))))
	wantError(r.t, "Dial", d.err, transport.ErrPrivateData)

	dial := r.dial(ctx, nil)
	req := r.accept(ctx)
	_, err := r.answer(ctx, req, private(make([]byte, tooMuchPrivateData)))
	wantError(r.t, "Request.Accept", err, transport.ErrPrivateData)
	wantError(r.t, "Request.Reject", req.Reject(make([]byte, tooMuchPrivateData)), transport.ErrPrivateData)
	// The request is still undecided.
	if err := req.Reject(nil); err != nil {
		r.t.Fatalf("Request.Reject: %v", err)
	}
	r.wantRejected(wait(r.t, "Dial", dial), nil)
}

func setupReject(r *rig) {
	ctx := patient(r.t)
	asked := pattern(r.dialer.MaxPrivateData(), 1)
	please := func(e *end) ([]byte, error) {
		e.receives(2, 8) // they come back
		return asked, nil
	}
	_, n := r.listener.MaxPrivateReply()
	for _, reason := range [][]byte{nil, pattern(min(1, n), 2), pattern(n, 3)} {
		dial := r.dial(ctx, please)
		req := r.accept(ctx)
		wantPrivate(r.t, "private data of the request", req.Info().PrivateData, asked)
		if req.Info().RemoteAddr == nil {
			r.t.Error("the request has no remote address")
		}
		if err := req.Reject(reason); err != nil {
			r.t.Fatalf("Request.Reject: %v", err)
		}
		r.wantRejected(wait(r.t, "Dial", dial), reason)
	}
	r.connect().start().alive()
}

func (r *rig) wantRejected(d dialed, private []byte) {
	r.t.Helper()
	var reject *transport.RejectError
	if !errors.As(d.err, &reject) {
		r.t.Fatalf("Dial: got error %v, want a RejectError", d.err)
	}
	wantPrivate(r.t, "private data of the refusal", reject.PrivateData, private)
}

func (r *rig) accept(ctx context.Context) transport.Request {
	r.t.Helper()
	req, err := r.listener.Accept(ctx)
	if err != nil {
		r.t.Fatalf("Listener.Accept: %v", err)
	}
	return req
}

func setupNobody(r *rig) {
	addr := r.f.UnusedAddr
	if addr == "" {
		addr = r.addr
		r.listener.Close()
	}
	d := wait(r.t, "Dial", r.dialTo(patient(r.t), addr, nil))
	if d.err == nil {
		r.t.Fatal("Dial succeeded")
	}
	if problem := unwrapped(d.err); problem != "" {
		r.t.Errorf("Dial: error %q %s", d.err, problem)
	}
}

// A cancelled dial does not block the next one.
func setupDialCancelled(r *rig) {
	ctx, cancel := context.WithCancel(patient(r.t))
	defer time.AfterFunc(soon, cancel).Stop()
	dial := r.dial(ctx, private([]byte("given up")))
	d := wait(r.t, "Dial", dial)
	if d.err == nil {
		r.t.Fatal("Dial succeeded, though nobody had accepted")
	}
	wantError(r.t, "Dial", d.err, context.Canceled)

	ctx = patient(r.t)
	dial = r.dial(ctx, private([]byte("in earnest")))
	for {
		req := r.accept(ctx)
		earnest := bytes.HasPrefix(req.Info().PrivateData, []byte("in earnest"))
		e, err := r.answer(ctx, req, nil)
		switch {
		case earnest && err != nil:
			r.t.Fatalf("Request.Accept: %v", err)
		case earnest:
			d := wait(r.t, "Dial", dial)
			if d.err != nil {
				r.t.Fatalf("Dial: %v", d.err)
			}
			p := &pair{rig: r, a: d.end, b: e}
			p.start().alive()
			return
		case err == nil:
			// This endpoint must notice by itself that it has no peer.
			e.start()
			e.ended()
		}
	}
}

func setupDialDead(r *rig) {
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	d := wait(r.t, "Dial", r.dial(ctx, nil))
	wantError(r.t, "Dial", d.err, context.Canceled)
}

func setupAcceptCancelled(r *rig) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer time.AfterFunc(soon, cancel).Stop()
	wantError(r.t, "Accept", r.acceptFails(ctx), context.Canceled)
	wantError(r.t, "Accept with a cancelled context", r.acceptFails(ctx), context.Canceled)
	r.connect().start().alive()
}

// acceptFails returns the error of an Accept without a dial.
func (r *rig) acceptFails(ctx context.Context) error {
	r.t.Helper()
	failed := make(chan error, 1)
	go func() {
		req, err := r.listener.Accept(ctx)
		if err == nil {
			req.Reject(nil)
		}
		failed <- err
	}()
	return wait(r.t, "Accept", failed)
}

func setupListenerClose(r *rig) {
	p := r.connect().start()
	defer time.AfterFunc(soon, func() {
		if err := r.listener.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	}).Stop()
	wantError(r.t, "Accept", r.acceptFails(r.t.Context()), net.ErrClosed)
	wantError(r.t, "Accept after Close", r.acceptFails(r.t.Context()), net.ErrClosed)
	p.alive() // connections stay
}

func setupListenerCloseDial(r *rig) {
	dial := r.dial(r.t.Context(), nil)
	defer time.AfterFunc(soon, func() { r.listener.Close() }).Stop()
	if d := wait(r.t, "Dial", dial); d.err == nil {
		r.t.Error("Dial succeeded, though nobody had accepted")
	}
}

func setupMany(r *rig) {
	var pairs []*pair
	for range 20 {
		pairs = append(pairs, r.connect().start())
	}
	for i, p := range pairs {
		if i%2 == 0 {
			p.b.Close()
			p.a.ended()
		}
	}
	for i, p := range pairs {
		if i%2 == 1 {
			p.alive()
		}
	}
}
