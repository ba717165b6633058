package transporttest

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var progressTests = []pairTest{
	{"progress", Options{SendDepth: 64}, progressTransfers},
}

// pause is how long the tests of progress wait before they look again. In a bubble, time stands
// still for as long as a goroutine looks without a pause.
const pause = time.Microsecond

// Everything that has completed or been delivered is counted at both ends. The numbers never
// decrease.
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
		var last [6]uint64
		for {
			pa, pb := a.Progress(), b.Progress()
			now := [6]uint64{pa.Sent, pa.Received, pa.Read, pb.Sent, pb.Received, pb.Read}
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
			case <-time.After(pause):
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
		before := a.Progress()
		p.b.receives(1, 8)
		p.a.do(write(region, 0, data))
		p.a.do(read(region, 0, data))
		p.a.do(send(p.a.alloc(8)))
		p.b.next()
		toB += uint64(size) + 8
		toA += uint64(size)
		now := a.Progress()
		wantAtLeast("sent by the active end", now.Sent, max(toB, before.Sent+uint64(size)+8))
		wantAtLeast("received by the active end", now.Received, max(toA, before.Received+uint64(size)))
		if now.Read != toA {
			p.t.Errorf("read by the active end: %d bytes, want %d", now.Read, toA)
		}
		now = b.Progress()
		// The response to a Read completes no request here, so it may be counted late.
		for begin := time.Now(); now.Sent < toA && time.Since(begin) < patience; now = b.Progress() {
			time.Sleep(pause)
		}
		wantAtLeast("sent by the other end", now.Sent, toA)
		wantAtLeast("received by the other end", now.Received, toB)
		if now.Read != 0 {
			p.t.Errorf("read by the other end, which has not: %d bytes", now.Read)
		}
	}
	close(stop)
	wait(p.t, "the one who looks", stopped)
}
