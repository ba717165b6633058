package hostile_test

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// onSetup are attacks on how connections are made.
var onSetup = []attack{
	{
		name: "connections that say nothing", threat: "RFC 5042 6.4.2", conns: 300,
		raw: (*peer).stay, over: []way{byIWARP}, only: startups, moves: "iwarp.Dropped",
	},
	{
		name: "a startup that trickles", threat: "RFC 5042 6.4.2", conns: 300,
		over: []way{byIWARP}, only: startups,
		raw:   func(p *peer) { p.slowly(time.Second, []byte(startupRequest)) },
		moves: "iwarp.Dropped",
	},
	{
		name: "another protocol", threat: "RFC 5042 6.4.4", conns: 50, flood: true,
		over: []way{byIWARP}, only: startups,
		raw: func(p *peer) {
			p.write([]byte("GET / HTTP/1.1\r\n\r\n")...)
			p.listen()
		},
		moves: "iwarp.HandshakeFailures",
	},
	{
		name: "connections that come and go", threat: "RFC 5042 6.4.1", conns: 50, flood: true,
		over: []way{byIWARP},
		raw: func(p *peer) {
			for range 3 {
				p.startup()
			}
			p.reset()
		},
	},
	{
		name: "connections that come and go", threat: "RFC 5042 6.4.1", conns: 50, flood: true,
		over:  []way{bySCTP, byRoCE},
		verbs: (*peer).null,
	},
	{
		name: "connections that idle", threat: "RFC 5042 6.4.2", memory: true, conns: 200,
		over: overRDMA,
		verbs: func(p *peer) {
			p.null()
			p.stay()
		},
		moves: "oncrpc.TooMany",
	},
}

// startups is why an attack on startups has no other ways.
const startups = "the startup of MPA over TCP"

// null makes a NULL call and waits for its reply, which grants credits.
func (p *peer) null() {
	p.send(p.call(0, noChunks, p.rpc(0)))
	if b := p.receive(); p.ok() {
		var reply rpcrdma.Header
		_, p.err = reply.Parse(b)
		p.credits = int(reply.Credits)
	}
}
