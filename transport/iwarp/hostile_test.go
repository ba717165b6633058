package iwarp_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// maxPending is how many connections of a listener may be in their startup, or wait for Accept.
const maxPending = 256

// The time limits that are meant to pass. The bystanders have to set up their connections within that for the startup.
const (
	shortStartup = 300 * time.Millisecond
	shortStall   = 100 * time.Millisecond
)

// hostileConfig is that of an end whose peers are bad after the startup.
func hostileConfig() iwarp.Config {
	return iwarp.Config{CRC: iwarp.CRCOff, IRD: 2, ORD: 2, StallTimeout: shortStall}
}

// hastyConfig is that of an end whose peers are bad in the startup.
func hastyConfig() iwarp.Config {
	return iwarp.Config{CRC: iwarp.CRCOff, IRD: 2, ORD: 2, HandshakeTimeout: shortStartup}
}

// bystander makes a connection, and returns what checks that it works.
func (r *rig) bystander() (check func()) {
	r.t.Helper()
	p, l := r.connect()
	l.start()
	check = func() {
		r.t.Helper()
		alive(p, l)
	}
	check()
	return check
}

// wantEnd expects that the connection ends, in whatever way.
func (p *peer) wantEnd() {
	p.t.Helper()
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{p.conn}); isTimeout(err) {
		p.t.Error("peer: the connection does not end")
	}
}

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited %v in vain", what, patience)
		}
	}
}

// TestStartupStops has peers that stop in the middle of their request, or never begin.
func TestStartupStops(t *testing.T) {
	request := requestFrame(0x10, 2, clientServer+"private data")
	for _, n := range []int{0, 1, 15, 16, 19, 20, 22, len(request) - 1} {
		r := newRig(t, false, hastyConfig())
		check := r.bystander()
		p := dialPeer(t, r.listener.Addr().String())
		p.write(request[:n])
		check()
		p.wantEnd()
		check()
		r.wantCounters(map[string]int{"Connections": 1, "HandshakeFailures": 1})
		r.log.want(t, 1, "no connection", p.conn.LocalAddr().String())
	}
}

// TestStartupTrickles has a peer that sends its request a byte at a time, and is never through.
func TestStartupTrickles(t *testing.T) {
	r := newRig(t, false, hastyConfig())
	check := r.bystander()
	p := dialPeer(t, r.listener.Addr().String())
	p.trickle(requestFrame(0x10, 2, clientServer+strings.Repeat("x", 508)))
	p.wantEnd()
	check()
	r.wantCounters(map[string]int{"Connections": 1, "HandshakeFailures": 1})
	r.log.want(t, 1, "no connection")
}

// trickle sends bytes one by one until the other side has enough of it.
func (p *peer) trickle(b []byte) {
	p.t.Helper()
	for i := range b {
		if _, err := p.conn.Write(b[i : i+1]); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.t.Error("peer: all was taken")
}

// TestStops has peers that stop in the middle of an FPDU.
func TestStops(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   int // of 2 + 18 + 30 + 2 + 4 bytes
	}{
		{"length", 1},
		{"nothing but the length", 2},
		{"header", 10},
		{"nothing but the header", 20},
		{"payload", 40},
		{"padding", 51},
		{"CRC", 53},
		{"last byte", 55},
	} {
		for _, dialing := range []bool{false, true} {
			t.Run(describe(dialing, iwarp.CRCOff)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, dialing, hostileConfig())
				check := r.bystander()
				p, l := r.connect()
				l.receives(2)
				l.start()
				p.sendMessage("whole")
				l.wantMessage("whole")
				p.write(p.frame(segment(onQueue(rdmap.OpSend, 2), strings.Repeat("x", 30)))[:tt.at])
				check()
				if err := l.ended(); !errors.Is(err, mpa.ErrStalled) {
					t.Errorf("got error %v, want %v", err, mpa.ErrStalled)
				}
				p.wantEnd()
				check()
				r.wantCounters(map[string]int{"Connections": 2, "Stalls": 1})
				r.log.want(t, 1, "connection ended", p.conn.LocalAddr().String())
			})
		}
	}
}

// TestTrickles has a peer that sends a large FPDU a byte at a time.
func TestTrickles(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	check := r.bystander()
	p, l := r.connect()
	l.start()
	p.trickle(p.frame(segment(onQueue(rdmap.OpSend, 1), strings.Repeat("x", 60000))))
	if err := l.ended(); !errors.Is(err, mpa.ErrStalled) {
		t.Errorf("got error %v, want %v", err, mpa.ErrStalled)
	}
	p.wantEnd()
	check()
	r.wantCounters(map[string]int{"Connections": 2, "Stalls": 1})
	r.log.want(t, 1, "connection ended")
}

// huge is more than TCP buffers for a peer that does not read.
const huge = 16 << 20

// TestNeverReads has peers that read nothing of what is sent to them.
func TestNeverReads(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(p *peer, l *local) // until our end has huge things to send
		n    int                     // completions
	}{
		{"Write", func(_ *peer, l *local) {
			l.post(&transport.WorkRequest{Op: transport.OpWrite, Local: slices(make([]byte, huge)), Remote: transport.Remote{STag: 1}})
		}, 1},
		{"Send", func(_ *peer, l *local) {
			l.post(&transport.WorkRequest{Op: transport.OpSend, Local: slices(make([]byte, huge))})
		}, 1},
		{"many Sends", func(_ *peer, l *local) {
			data := slices(make([]byte, huge/64))
			for range 64 {
				l.post(&transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Local: data})
			}
		}, 64},
		{"Read Response", func(p *peer, l *local) {
			w := l.expose(transport.RemoteRead, make([]byte, huge))
			p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, huge)))
		}, 0},
		{"Read Responses and a Write", func(p *peer, l *local) {
			w := l.expose(transport.RemoteRead, make([]byte, huge))
			p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, huge)),
				segment(onQueue(rdmap.OpReadRequest, 2), readRequest(w.STag, w.Base, huge)))
			l.post(&transport.WorkRequest{Op: transport.OpWrite, Local: slices(make([]byte, huge)), Remote: transport.Remote{STag: 1}})
		}, 1},
	} {
		for _, dialing := range []bool{false, true} {
			t.Run(describe(dialing, iwarp.CRCOff)+", "+tt.name, func(t *testing.T) {
				r := newRig(t, dialing, hostileConfig())
				check := r.bystander()
				p, l := r.connect()
				l.start()
				alive(p, l)
				tt.play(p, l)
				check()
				if err := l.ended(); !errors.Is(err, mpa.ErrStalled) {
					t.Errorf("got error %v, want %v", err, mpa.ErrStalled)
				}
				failed := 0
				for range tt.n {
					if err := await(t, "completion", l.completions); err != nil {
						failed++
						if !errors.Is(err, transport.ErrFlushed) || !errors.Is(err, mpa.ErrStalled) {
							t.Errorf("completed with %v, want %v and %v", err, transport.ErrFlushed, mpa.ErrStalled)
						}
					}
				}
				if tt.n > 0 && failed == 0 {
					t.Error("all requests succeeded")
				}
				p.wantEnd()
				check()
				r.wantCounters(map[string]int{"Connections": 2, "Stalls": 1})
				r.log.want(t, 1, "connection ended", p.conn.LocalAddr().String())
			})
		}
	}
}

// TestFlood connects more peers than a listener lets wait: the oldest silent ones make room.
func TestFlood(t *testing.T) {
	const more = 40
	r := newRig(t, false, hostileConfig())
	check := r.bystander()
	var peers []*peer
	for range maxPending + more {
		peers = append(peers, dialPeer(t, r.listener.Addr().String()))
	}
	until(t, "drops", func() bool { return r.cfg.Counters.Dropped.Load() == more })
	check()
	for _, p := range peers[:more] {
		p.wantEnd()
	}
	// The others have their place still: each can ask, and is answered.
	for i, p := range peers[more:] {
		p.write(requestFrame(0x10, 2, clientServer))
		req := r.request()
		if err := req.Reject(nil); err != nil {
			t.Fatalf("peer %d: %v", i, err)
		}
		p.readStartup()
		p.conn.Close()
	}
	r.wantCounters(map[string]int{"Connections": 1, "Dropped": more, "Rejected": maxPending})
	r.log.want(t, 0)
	check()
}

// TestFloodOfRequests has more requests than a listener lets wait for Accept: those that came first have their place.
func TestFloodOfRequests(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	check := r.bystander()
	startups := newGoroutines() // the listener has one for each
	var peers []*peer
	for range maxPending {
		peers = append(peers, dialPeer(t, r.listener.Addr().String()))
	}
	until(t, "connections", func() bool { return startups() == maxPending })
	for _, p := range peers {
		p.write(requestFrame(0x10, 2, clientServer))
	}
	until(t, "requests", func() bool { return startups() == 0 })
	p := dialPeer(t, r.listener.Addr().String())
	p.wantEnd()
	check()
	r.wantCounters(map[string]int{"Connections": 1, "Dropped": 1})
	for range maxPending {
		req := r.request()
		req.Reject(nil)
	}
	r.bystander()
}

// TestReadFlood has a peer ask for more than its IRD allows, and read none of it before it is told.
func TestReadFlood(t *testing.T) {
	for _, dialing := range []bool{false, true} {
		t.Run(describe(dialing, iwarp.CRCOn), func(t *testing.T) {
			cfg := hostileConfig()
			cfg.CRC, cfg.StallTimeout = iwarp.CRCOn, patience
			r := newRig(t, dialing, cfg)
			check := r.bystander()
			p, l := r.connect()
			l.start()
			memory := pattern(huge)
			w := l.expose(transport.RemoteRead, memory)
			request := func(msn uint32) []byte {
				return segment(onQueue(rdmap.OpReadRequest, msn), readRequest(w.STag, w.Base, huge))
			}
			p.send(request(1))
			p.send(request(2))
			l.blocked()
			p.send(request(3))
			wantTerminated(t, l.ended(), rdmap.UntaggedNoBuffer, false, nil)
			check()
			n, next := p.readTagged(rdmap.OpReadResponse, 0x1000, memory)
			if n == 0 || n >= huge {
				t.Errorf("read %d bytes of the response, want some", n)
			}
			want := terminateSegment(terminateBytes(rdmap.UntaggedNoBuffer, request(3), true, true))
			if diff := cmp.Diff(want, next); diff != "" {
				t.Errorf("Terminate (-want +got):\n%s", diff)
			}
			p.wantFIN()
			r.wantCounters(map[string]int{"Connections": 2, "TerminatesSent": 1})
			r.log.want(t, 1, "connection terminated")
		})
	}
}

// TestGarbageStartup has peers that speak something else.
func TestGarbageStartup(t *testing.T) {
	for _, tt := range []struct {
		name string
		sent string
	}{
		{"HTTP", "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"},
		{"ONC RPC", "\x80\x00\x00\x28\x11\x22\x33\x44"},
		{"zeros", strings.Repeat("\x00", 1000)},
		{"a reply", string(replyFrame(0x10, 2, clientServer))},
		{"almost", "MPA ID Req frame"},
		{"too much private data", "MPA ID Req Frame\x00\x01\x02\x01"},
		{"far too much private data", "MPA ID Req Frame\x00\x01\xff\xff" + strings.Repeat("x", 65535)},
		{"revision 3", string(requestFrame(0x10, 3, clientServer))},
		{"too little private data", string(requestFrame(0x10, 2, "\x00\x10\x00"))},
		{"one wrong byte", "m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, false, hostileConfig()) // there is no time limit to wait for
			check := r.bystander()
			p := dialPeer(t, r.listener.Addr().String())
			p.conn.Write([]byte(tt.sent))
			p.wantEnd()
			check()
			r.wantCounters(map[string]int{"Connections": 1, "HandshakeFailures": 1})
			r.log.want(t, 1, "no connection", p.conn.LocalAddr().String())
		})
	}
}

// TestPipelined has FPDUs that come right behind the request. They are not lost.
func TestPipelined(t *testing.T) {
	r := newRig(t, false, hostileConfig())
	p := dialPeer(t, r.listener.Addr().String())
	p.write(append(requestFrame(0x10, 2, clientServer), p.frame(segment(onQueue(rdmap.OpSend, 1), "early"))...))
	req := r.request()
	ep, err := req.Accept(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLocal(t, ep)
	l.receives(1)
	l.start()
	p.readStartup()
	l.wantMessage("early")
	p.sends = 1
	alive(p, l)
}

// stages are what a connection can be in the middle of. Each leaves our end in it.
var stages = []struct {
	name string
	play func(p *peer, l *local)
}{
	{"nothing", func(*peer, *local) {}},
	{"an FPDU", func(p *peer, _ *local) { p.write(p.frame(segment(onQueue(rdmap.OpSend, 1), "message"))[:9]) }},
	{"a message", func(p *peer, _ *local) { p.send(segment(with(onQueue(rdmap.OpSend, 1), more), "mess")) }},
	{"a Read of ours", func(p *peer, l *local) {
		p.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
		l.post(&transport.WorkRequest{Op: transport.OpRead, Local: slices(make([]byte, 8)), Remote: transport.Remote{STag: 1}})
		r := p.wantReadRequest(1)
		p.send(segment(with(response(r, 0), more), "half"))
	}},
	{"a Write of ours", func(p *peer, l *local) {
		p.send(segment(toSTag(rdmap.OpWrite, 1, 0), ""))
		l.post(&transport.WorkRequest{Op: transport.OpWrite, Local: slices(make([]byte, huge)), Remote: transport.Remote{STag: 1}})
		l.blocked()
	}},
	{"a Read of the peer's", func(p *peer, l *local) {
		w := l.expose(transport.RemoteRead, make([]byte, huge))
		p.send(segment(onQueue(rdmap.OpReadRequest, 1), readRequest(w.STag, w.Base, huge)))
		l.blocked()
	}},
}

// TestLeaves has peers that leave at every stage, by an orderly half of a close and by a reset.
func TestLeaves(t *testing.T) {
	for _, stage := range stages {
		for _, how := range []struct {
			name  string
			leave func(p *peer)
		}{
			{"half-close", func(p *peer) { p.conn.CloseWrite() }},
			{"close", func(p *peer) { p.conn.Close() }},
			{"reset", func(p *peer) { p.reset() }},
		} {
			for _, dialing := range []bool{false, true} {
				t.Run(describe(dialing, iwarp.CRCOff)+", "+stage.name+", "+how.name, func(t *testing.T) {
					cfg := hostileConfig()
					cfg.StallTimeout = patience
					r := newRig(t, dialing, cfg)
					check := r.bystander()
					p, l := r.connect()
					l.receives(1)
					l.start()
					stage.play(p, l)
					how.leave(p)
					if err := l.ended(); !errors.Is(err, transport.ErrClosedByPeer) {
						t.Errorf("got error %v, want %v", err, transport.ErrClosedByPeer)
					}
					if how.name == "half-close" {
						p.wantEnd()
					}
					check()
					r.wantCounters(map[string]int{"Connections": 2})
					r.log.want(t, 0)
				})
			}
		}
	}
}

// TestLeavesStartup has peers that leave during the startup, or before they are accepted.
func TestLeavesStartup(t *testing.T) {
	request := requestFrame(0x10, 2, clientServer)
	for _, n := range []int{0, 10, 22} {
		for name, leave := range map[string]func(*peer){
			"half-close": func(p *peer) { p.conn.CloseWrite() },
			"close":      func(p *peer) { p.conn.Close() },
			"reset":      func(p *peer) { p.reset() },
		} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, false, hostileConfig())
				check := r.bystander()
				p := dialPeer(t, r.listener.Addr().String())
				p.write(request[:n])
				leave(p)
				until(t, "failure", func() bool { return r.cfg.Counters.HandshakeFailures.Load() == 1 })
				check()
				r.listener.Close()
				if n == 0 && name != "reset" {
					r.log.want(t, 0) // no more than a look whether somebody listens
					return
				}
				r.log.want(t, 1, "no connection")
			})
		}
	}
	t.Run("before Accept", func(t *testing.T) {
		r := newRig(t, false, hostileConfig())
		p := dialPeer(t, r.listener.Addr().String())
		p.write(request)
		req := r.request()
		p.reset()
		// Whether the reply fails, or what comes after it, depends on TCP.
		ep, err := req.Accept(t.Context(), nil)
		if err == nil {
			err = newLocal(t, ep).start().ended()
		}
		if err == nil {
			t.Error("got no error")
		}
		r.bystander()
	})
}

// TestMemory has many peers that announce the largest FPDU and stop: they hold little more memory than they have sent.
func TestMemory(t *testing.T) {
	const (
		peers = 250
		bound = 40 << 20 // of which a fixed part is for those that may keep a buffer
	)
	cfg := hostileConfig()
	cfg.StallTimeout = patience
	r := newRig(t, false, cfg)
	check := r.bystander()
	before := heap()
	var ends []*local
	for range peers {
		p, l := r.connect()
		ends = append(ends, l)
		l.receives(1)
		l.start()
		p.sends++
		message := p.frame(segment(onQueue(rdmap.OpSend, 1), "first"))
		p.write(append(message, append([]byte{0xff, 0xff}, make([]byte, 1000)...)...))
		l.wantMessage("first") // what is behind it has been read, too
	}
	if grown := heap() - before; grown > bound {
		t.Errorf("%d peers hold %d bytes, want at most %d", peers, grown, bound)
	}
	check()
	for _, l := range ends {
		l.Close()
		l.ended()
	}
}

// heap returns the size of the heap without its garbage.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestChurn has peers that come, break the protocol and go: nothing of them stays.
func TestChurn(t *testing.T) {
	const peers, bound = 300, 16 << 20
	r := newRig(t, false, hostileConfig())
	check := r.bystander()
	before := heap()
	for i := range peers {
		p, l := r.connect()
		l.receives(100)
		l.expose(transport.RemoteRead, make([]byte, 1<<10))
		l.start()
		switch i % 3 {
		case 0:
			p.send(segment(toSTag(rdmap.OpWrite, 1, 0), "x"))
			p.wantEnd()
		case 1:
			p.write([]byte{0, 0})
			p.wantEnd()
		default:
			p.reset()
		}
		l.ended()
		p.conn.Close()
	}
	if grown := heap() - before; grown > bound {
		t.Errorf("%d bytes are left of %d peers, want at most %d", grown, peers, bound)
	}
	check()
}

// pattern is n bytes that tell where they are from.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
		if i == 1<<20 {
			for i++; i < n; i += copy(b[i:], b[:1<<20+1]) { // fast, and not aligned
			}
			break
		}
	}
	return b
}

// blocked waits until the network takes no more of what l sends: a goroutine waits for a socket that is full. No peer of these tests
// writes meanwhile.
func (l *local) blocked() {
	l.t.Helper()
	until(l.t, "a full network", func() bool {
		for _, stack := range goroutines() {
			if strings.Contains(stack, "[IO wait") && strings.Contains(stack, "waitWrite(") {
				return true
			}
		}
		return false
	})
}

// goroutines returns the stacks of all goroutines by their numbers, which are never used again.
func goroutines() map[string]string {
	b := make([]byte, 1<<20)
	for {
		n := runtime.Stack(b, true)
		if n < len(b) {
			b = b[:n]
			break
		}
		b = make([]byte, 2*len(b))
	}
	all := make(map[string]string)
	for stack := range strings.SplitSeq(string(b), "\n\n") {
		number, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		all[number] = stack
	}
	return all
}

// newGoroutines returns what counts the goroutines that there were not when it was made.
func newGoroutines() (count func() int) {
	old := goroutines()
	return func() (n int) {
		for number := range goroutines() {
			if _, ok := old[number]; !ok {
				n++
			}
		}
		return n
	}
}
