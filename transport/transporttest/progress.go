package transporttest

import (
	"runtime"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var progressTests = []pairTest{
	{"progress", Options{SendDepth: 64}, progressTransfers},
}

// What has completed or been delivered is counted at either end, and the numbers only
// grow, whoever looks meanwhile.
func progressTransfers(p *pair) {
	a, okA := transport.As[transport.ProgressReporter](p.a.Endpoint)
	b, okB := transport.As[transport.ProgressReporter](p.b.Endpoint)
	if !okA || !okB {
		p.t.Skip("the provider does not tell its progress")
	}
	p.start()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var last [4]uint64
		for {
			var now [4]uint64
			now[0], now[1] = a.Progress()
			now[2], now[3] = b.Progress()
			for i := range now {
				if now[i] < last[i] {
					p.t.Errorf("the numbers were %v, and then %v", last, now)
					return
				}
			}
			last = now
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	size := p.size(50000)
	region := p.b.expose(rw, p.b.alloc(size))
	data := p.a.hold(pattern(size, 1))
	var toB, toA uint64
	wantAtLeast := func(what string, got, want uint64) {
		p.t.Helper()
		if got < want {
			p.t.Errorf("%s: %d bytes, want %d at least", what, got, want)
		}
	}
	for range 10 {
		sentA, receivedA := a.Progress()
		p.b.receives(1, 8)
		p.a.do(write(region, 0, data))
		p.a.do(read(region, 0, data))
		p.a.do(send(p.a.alloc(8)))
		p.b.next()
		toB += uint64(size) + 8
		toA += uint64(size)
		sent, received := a.Progress()
		wantAtLeast("sent by the active end", sent, max(toB, sentA+uint64(size)+8))
		wantAtLeast("received by the active end", received, max(toA, receivedA+uint64(size)))
		sent, received = b.Progress()
		// The response to a Read completes nothing here, and may be counted after the peer has it.
		for begin := time.Now(); sent < toA && time.Since(begin) < patience; sent, _ = b.Progress() {
			runtime.Gosched()
		}
		wantAtLeast("sent by the other end", sent, toA)
		wantAtLeast("received by the other end", received, toB)
	}
	close(stop)
	wait(p.t, "the one who looks", stopped)
}
