package hostile_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// gssFlood is what connections do to a realm again and again.
type gssFlood struct {
	name string
	tcp  bool
	play func(p *peer, r *realm)
	// arrived reports whether the flood has had its effect on the server.
	arrived func(s gss.ServerStats) bool
}

// noise returns random bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// floodWith sends calls of a kind as fast as they are answered.
func floodWith(tcp bool, next func(p *peer) []byte) func(p *peer, r *realm) {
	return func(p *peer, _ *realm) {
		for p.ok() {
			p.sendRPC(tcp, next(p))
			p.rpcReply(tcp)
		}
	}
}

func refusals(n uint64) func(gss.ServerStats) bool {
	return func(s gss.ServerStats) bool { return s.Refused >= n }
}

var gssFloods = []gssFlood{
	{"garbage tokens", true,
		floodWith(true, func(p *peer) []byte { return p.create(gssInit, nil, noise(700)) }),
		refusals(500)},
	{"garbage tokens over RDMA", false,
		floodWith(false, func(p *peer) []byte { return p.create(gssInit, nil, noise(700)) }),
		refusals(500)},
	{"the longest tokens", true,
		floodWith(true, func(p *peer) []byte { return p.create(gssInit, nil, make([]byte, 64<<10)) }),
		refusals(100)},
	{"tokens beyond the longest", true,
		floodWith(true, func(p *peer) []byte { return p.create(gssInit, nil, make([]byte, 1<<20)) }),
		func(s gss.ServerStats) bool { return s.GarbageBodies >= 20 }},
	{"contexts that nobody has begun", true,
		floodWith(true, func(p *peer) []byte { return p.create(gssContinue, noise(16), noise(700)) }),
		refusals(500)},
	{"calls with contexts that there are not", true,
		floodWith(true, func(p *peer) []byte {
			b := p.gssHeader(gssProgram, gssEcho, gssData, 1, gss.Privacy, noise(16))
			return append(append(b, be32(6)...), opaque(noise(21))...)
		}), func(s gss.ServerStats) bool { return s.Unknown >= 500 }},
	{"contexts that are left half made", true,
		func(p *peer, r *realm) {
			for p.ok() {
				p.context(r, "eve@TEST", true, false)
			}
		}, func(s gss.ServerStats) bool { return s.Evicted >= 500 }},
	{"contexts that are left half made over RDMA", false,
		func(p *peer, r *realm) {
			for p.ok() {
				p.context(r, "eve@TEST", false, false)
			}
		}, func(s gss.ServerStats) bool { return s.Evicted >= 500 }},
	{"contexts by the thousand", true,
		func(p *peer, r *realm) {
			for p.ok() {
				p.context(r, "eve@TEST", true, true)
			}
		}, func(s gss.ServerStats) bool { return s.Evicted >= 1000 }},
	{"tokens byte by byte", true,
		func(p *peer, _ *realm) {
			p.slowly(20*time.Millisecond, record(true, p.create(gssInit, nil, noise(100))))
			p.listen()
		}, refusals(8)},
	{"connections that are reset behind a token", true,
		func(p *peer, r *realm) {
			n, _ := r.mechanism.Initiator("eve@TEST").Initiate(p.ctx, "test@server")
			token, _, _ := n.Step(p.ctx, nil)
			for range 50 {
				p.write(record(true, p.create(gssInit, nil, token))...)
			}
			p.reset()
		}, func(s gss.ServerStats) bool { return s.HalfMade+int(s.Evicted) >= 100 }},
}

// TestGSSFloods lets hosts flood the creation of contexts. Clients on other hosts keep their
// contexts, and their calls are answered. A new client makes its own context. The numbers of
// contexts and half-made contexts stay within their limits, as does their memory. At the end there
// are none.
func TestGSSFloods(t *testing.T) {
	for i, a := range gssFloods {
		for _, hosts := range []int{1, 3} {
			if raced && (hosts > 1 || i%3 > 0) || hosts > 1 && i%2 > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/hosts %d", a.name, hosts), func(t *testing.T) { a.test(t, hosts) })
		}
	}
}

// gssMemory limits the bytes for the contexts of a small server, half-made ones included, and for
// calls on a few connections.
const gssMemory = 24 << 20

// TestGSSManyHosts lets one principal come from more hosts than there are places for contexts, so
// that fairness between hosts does not help. New contexts then replace those of the same principal.
func TestGSSManyHosts(t *testing.T) {
	a := gssFlood{tcp: true, play: func(p *peer, r *realm) {
		for p.ok() {
			p.context(r, "eve@TEST", true, true)
		}
	}, arrived: func(s gss.ServerStats) bool { return s.Evicted >= 1000 }}
	a.test(t, 2*gssContexts)
}

func (a *gssFlood) test(t *testing.T, hosts int) {
	r := newRealm(t)
	alice := r.joins("127.0.1.1", "TCP", gss.Integrity)
	bob := r.joins("127.0.1.2", "RDMA", gss.Privacy)
	work(t, 3, alice, bob)
	before := heap()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flood := &attack{flood: true, stream: func(p *peer) { a.play(p, r) }}
	way := byIWARP
	if a.tcp {
		way = byTCP
	}
	under := flood.begin(ctx, r.site, way, hosts, max(1, 8/hosts))
	defer under.end()
	hang.Until(t, "the attack is there", func() bool { return a.arrived(r.flavor.Stats()) })
	work(t, 40, alice, bob)
	late := r.joins("127.0.1.3", "TCP", gss.Privacy)
	work(t, 10, late)
	work(t, 10, alice, bob, late)
	for _, c := range []*citizen{alice, bob, late} {
		if n := c.begun.Load(); n != 1 {
			t.Errorf("%s has made %d contexts, want to keep one", c.name, n)
		}
	}
	s := r.flavor.Stats()
	if s.Contexts > gssContexts || s.HalfMade > 512 {
		t.Errorf("%+v", s)
	}
	under.end()
	if grown := heap() - before; grown > gssMemory {
		t.Errorf("the heap has grown by %d bytes, %+v", grown, s)
	}
	r.ahead.Store(int64(3 * time.Hour))
	if s := r.flavor.Stats(); s.Contexts+s.HalfMade > 0 {
		t.Errorf("three hours later: %+v", s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.seen {
		if len(b) == 0 || !bytes.Equal(b, bytes.Repeat(b[:1], len(b))) {
			t.Errorf("executed with %.40x", b)
		}
	}
}
