package iwarp_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// maxPending is how many connections of a listener may be in their startup, or wait for Accept.
const maxPending = 256

// Time limits that are meant to pass. What must be done before the one for the startup, such as the
// startup of bystanders, is done in virtual time.
const (
	shortStartup = 300 * time.Millisecond
	shortStall   = 100 * time.Millisecond
)

// hostileConfig is for an end whose peers misbehave after the startup.
func hostileConfig() iwarp.Config {
	return iwarp.Config{CRC: iwarp.CRCOff, IRD: 2, ORD: 2, StallTimeout: shortStall}
}

// hastyConfig is for an end whose peers misbehave in the startup.
func hastyConfig() iwarp.Config {
	return iwarp.Config{CRC: iwarp.CRCOff, IRD: 2, ORD: 2, HandshakeTimeout: shortStartup}
}

// bystander makes a connection, and returns a function that checks that it works.
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

// wantEnd expects the connection to end, in any way.
func (p *peer) wantEnd() {
	p.t.Helper()
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{p.conn}); isTimeout(err) {
		p.t.Error("peer: the connection does not end")
	}
}

// huge is more than TCP buffers for a peer that does not read.
const huge = 16 << 20

// TestGarbageStartup has peers of other protocols.
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
			r := newRig(t, false, hostileConfig()) // no time limit has to pass
			check := r.bystander()
			p := dialPeer(t, r.listener.Addr().String())
			p.conn.Write([]byte(tt.sent))
			p.wantEnd()
			check()
			r.wantCounters(map[string]int{"Connections": 1, "HandshakeFailures": 1})
			r.log.want(t, 1, "connection setup failed", p.conn.LocalAddr().String())
		})
	}
}

// stages are the points at which a connection may be interrupted. Each brings our end there.
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
