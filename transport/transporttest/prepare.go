package transporttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// prepareTests are the tests of transport.Preparation with a connection of their own, in which
// either end is the active one.
var prepareTests = []pairTest{
	{"prepare/info", Options{}, prepareInfo},
	{"prepare/receives", Options{}, prepareReceives},
	{"prepare/promises", Options{}, preparePromises},
	{"prepare/windows", Options{}, prepareWindows},
}

// prepared makes another connection, with a preparation of the end that is not active.
func (p *pair) prepared(b preparation) *pair {
	p.t.Helper()
	if p.b.name == "listening end" {
		return p.connectWith(nil, b)
	}
	q := p.connectWith(b, nil)
	q.a, q.b = q.b, q.a
	return q
}

// The limits are known. Those that the peer has a say in, and the addresses at the dialing end, may
// come later.
func prepareInfo(p *pair) {
	var early transport.Info
	q := p.prepared(func(b *end) ([]byte, error) {
		early = b.Info()
		return nil, nil
	})
	late := q.b.Info()
	early.IRD, early.ORD = late.IRD, late.ORD
	if q.b.name == "dialing end" {
		early.LocalAddr, early.RemoteAddr = late.LocalAddr, late.RemoteAddr
		early.PrivateData = late.PrivateData
	}
	if !reflect.DeepEqual(early, late) {
		q.t.Errorf("%s: got %+v in the preparation, and %+v afterwards", q.b.name, early, late)
	}
}

// Messages that are sent to an end before its Start wait for it, in receives that were posted
// before the connection was made.
func prepareReceives(p *pair) {
	q := p.prepared(func(b *end) ([]byte, error) {
		b.receives(2, 8)
		return nil, nil
	})
	q.sentEarly(p, func() {})
}

// sentEarly sends two messages to b before its Start. It calls still just before that.
func (p *pair) sentEarly(other *pair, still func()) {
	p.t.Helper()
	p.a.start()
	entries := p.a.post(
		with(transport.Signaled, send(p.a.hold([]byte("early")))),
		with(transport.Signaled, send(p.a.hold([]byte("and late")))),
	)
	other.start()
	for range 10 { // gives them time to do harm
		other.alive()
	}
	if err := p.b.Err(); err != nil {
		p.t.Fatalf("the connection ended before Start: %v", err)
	}
	still()
	p.b.start()
	for _, want := range []string{"early", "and late"} {
		if got := string(p.b.next().data); got != want {
			p.t.Errorf("received %q, want %q", got, want)
		}
	}
	p.a.succeed(entries...)
	p.alive()
}

func preparePromises(p *pair) {
	if _, ok := transport.As[transport.SharedReceiver](p.b.Endpoint); !ok {
		p.t.Skip("the provider cannot share receives")
	}
	var s *sharedSource
	q := p.prepared(func(b *end) ([]byte, error) {
		s = share(&pair{rig: p.rig, b: b}, 8, 4)
		s.promise(2)
		return nil, nil
	})
	q.sentEarly(p, func() { s.wantTaken(0) })
	s.wantTaken(2)
}

// A window is opened before the connection is made, and told to the peer in the private data. So
// the peer uses it as soon as it is connected.
func prepareWindows(p *pair) {
	const size = 4 + 8 // of a steering tag and an offset
	reply, _ := p.listener.MaxPrivateReply()
	if p.f.SilentSetup || min(reply, p.dialer.MaxPrivateData()) < size {
		p.t.Skip("no private data tells the peer of a window")
	}
	var mem transport.Slice
	q := p.prepared(func(b *end) ([]byte, error) {
		mem = b.hold(pattern(100, 1))
		b.Revoke(b.expose(rw, b.alloc(8))) // another one
		w := b.expose(rw, mem)
		private := binary.BigEndian.AppendUint32(nil, uint32(w.STag))
		return binary.BigEndian.AppendUint64(private, w.Base), nil
	})
	private := q.a.Info().PrivateData
	if len(private) < size {
		p.t.Fatalf("%d bytes of private data, want %d", len(private), size)
	}
	w := transport.Region{
		STag: transport.STag(binary.BigEndian.Uint32(private)),
		Base: binary.BigEndian.Uint64(private[4:]),
	}
	q.a.start()
	back, data := q.a.alloc(50), q.a.hold(pattern(50, 2))
	if q.f.ServesUnstarted {
		q.a.do(read(w, 50, back))
		q.a.do(write(w, 0, data))
		q.b.start()
	} else {
		q.b.start()
		q.a.do(read(w, 50, back))
		q.a.do(write(w, 0, data))
	}
	wantBytes(p.t, "what was read", back.Bytes, pattern(100, 1)[50:])
	q.alive()
	wantBytes(p.t, "memory", mem.Bytes[:50], pattern(50, 2))
}

var errUnprepared = errors.New("not prepared")

// unprepared is a preparation that fails after it has posted receives and exposed memory.
func unprepared(e *end) ([]byte, error) {
	e.receives(2, 8)
	e.expose(rw, e.alloc(8))
	return []byte("lost"), fmt.Errorf("the test is %w", errUnprepared)
}

// A dialing end that fails to prepare asks nobody.
func setupDialUnprepared(r *rig) {
	d := wait(r.t, "Dial", r.dial(patient(r.t), unprepared))
	wantError(r.t, "Dial", d.err, errUnprepared)
	r.connect().start().alive()
}

// A listening end that fails to prepare has not answered.
func setupAcceptUnprepared(r *rig) {
	ctx := patient(r.t)
	for _, reject := range []bool{false, true} {
		if reject && r.f.SilentSetup {
			continue
		}
		dial := r.dial(ctx, nil)
		req := r.accept(ctx)
		for range 2 {
			_, err := r.answer(ctx, req, unprepared)
			wantError(r.t, "Request.Accept", err, errUnprepared)
		}
		if reject {
			if err := req.Reject(nil); err != nil {
				r.t.Fatalf("Request.Reject: %v", err)
			}
			r.wantRejected(wait(r.t, "Dial", dial), nil)
			continue
		}
		r.accepted(ctx, req, dial, nil).start().alive()
	}
}

// Preparations may end their goroutine. Nothing has been sent then, or answered.
func setupGoexit(r *rig) {
	ctx := patient(r.t)
	gone := func(name string, by func(transport.Preparation)) {
		var e *end
		over := make(chan struct{})
		go func() {
			defer close(over)
			by(func(ep transport.Endpoint) ([]byte, error) {
				e = r.end(name, ep)
				e.failed = true
				runtime.Goexit()
				return nil, nil
			})
		}()
		wait(r.t, name+": the end of the goroutine", over)
		e.wantOver()
	}
	gone("dialing end", func(p transport.Preparation) { _, _ = r.dialer.Dial(ctx, r.addr, p) })
	dial := r.dial(ctx, nil)
	req := r.accept(ctx)
	gone("listening end", func(p transport.Preparation) { _, _ = req.Accept(ctx, p) })
	r.accepted(ctx, req, dial, nil).start().alive()
}
