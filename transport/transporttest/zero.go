package transporttest

import "github.com/rpcrdma/go-rpcrdma/transport"

var zeroTests = []pairTest{
	{"zero length/send", Options{}, zeroSend},
	{"zero length/write and read to nobody", Options{}, zeroTagged},
	{"zero length/window", Options{}, zeroWindow},
}

// A message of no bytes uses up a receive like any other.
func zeroSend(p *pair) {
	p.start()
	if err := p.b.inbox.post(p.b, &transport.RecvRequest{}); err != nil {
		p.t.Fatal(err)
	}
	p.b.receives(1, 8)
	p.a.do(send())
	p.a.do(send(p.a.alloc(8).Sub(8, 0)))
	for range 2 {
		if m := p.b.next(); m.Len != 0 {
			p.t.Errorf("%d bytes arrived, want 0", m.Len)
		}
	}
	p.alive()
}

func zeroTagged(p *pair) {
	p.start()
	other := p.connect().start()
	dead := p.b.expose(transport.RemoteRead|transport.RemoteWrite, p.b.alloc(8))
	p.b.Revoke(dead)
	foreign := other.b.expose(transport.RemoteRead|transport.RemoteWrite, other.b.alloc(8))
	readable := p.b.expose(transport.RemoteRead, p.b.alloc(8))
	writable := p.b.expose(transport.RemoteWrite, p.b.alloc(8))
	for _, r := range []transport.Region{
		{}, dead, foreign, readable, writable, {STag: 0xffffffff, Base: 1<<64 - 1},
	} {
		for _, off := range []int{0, -1, 100} {
			p.a.do(write(r, off))
			p.a.do(write(r, off, p.a.alloc(8).Sub(8, 0)))
			p.a.do(read(r, off))
		}
	}
	p.alive()
	other.alive()
}

// A window of no bytes can be made, but not used.
func zeroWindow(p *pair) {
	p.start()
	w := p.b.window(rw)
	if len(w) == 0 {
		p.t.Skip("the provider makes no window of no bytes")
	}
	r := w[0]
	p.a.do(write(r, 0))
	p.a.do(read(r, 0))
	p.alive()
	p.a.post(with(transport.Signaled, write(r, 0, p.a.alloc(1))))
	p.endedBy(transport.ErrBounds)
}
