package rpcrdma_test

import "testing"

// TestEndsWhilePinned ends connections, from either side, at stages of replies that the client
// reads. All memory is given back.
func TestEndsWhilePinned(t *testing.T) {
	for _, stage := range []struct {
		name  string
		do    func(d *replyReader, ep *slowSends)
		items int
	}{
		{"half read", func(d *replyReader, _ *slowSends) {
			d.read(d.source(9, 2, 5001).Reads[0].Segment)
		}, 2},
		{"acknowledged, and the Send not complete", func(d *replyReader, ep *slowSends) {
			ep.slow.Store(true)
			d.source(9, 2, 5001)
			d.done(9)
			waitFor(d.t, func() bool { return d.conn.Stats().DonesReceived == 1 })
		}, 2},
		{"withheld", func(d *replyReader, _ *slowSends) {
			for xid := range uint32(2) {
				d.source(xid, 1, third)
			}
			for xid := range uint32(3) {
				d.ask(10 + xid)
			}
			waitFor(d.t, func() bool {
				s := d.conn.Stats()
				return s.Withheld == 1 && s.Waited == 2
			})
		}, 3},
	} {
		for _, client := range []bool{false, true} {
			t.Run(stage.name, func(t *testing.T) {
				d, ep := slowReader(t)
				stage.do(d, ep)
				d.notFreed()
				// A provider completes all requests before it reports the end of the connection.
				ep.finish()
				if client {
					d.rawPeer.ep.Close()
				} else {
					d.conn.Close()
				}
				ended(t, d.conn)
				waitFor(t, func() bool { return d.server.Stats().InFlight == 0 })
				if n := len(d.program.freed); n != stage.items {
					t.Errorf("%d items released, want %d", n, stage.items)
				}
				d.memoryBack()
				d.allBack()
			})
		}
	}
}

// allBack ends the server, and checks that no memory of the provider is missing. All clients must
// have ended.
func (r *rig) allBack() {
	r.t.Helper()
	r.server.Close()
	err := wait(r.t, r.served)
	r.served <- err
	if n, size := r.fabric.Domain().Allocated(); n != 0 {
		r.t.Errorf("%d pieces of memory leaked, %d bytes", n, size)
	}
}
