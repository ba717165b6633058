package hostile_test

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// onSetup are attacks on how connections are made.
var onSetup = []attack{
	{
		name: "connections that say nothing", threat: "RFC 5042 6.4.2", conns: 300,
		play: (*peer).stay, moves: "iwarp.Dropped",
	},
	{
		name: "a startup that trickles", threat: "RFC 5042 6.4.2", conns: 300,
		play:  func(p *peer) { p.slowly(time.Second, []byte(startupRequest)) },
		moves: "iwarp.Dropped",
	},
	{
		name: "another protocol", threat: "RFC 5042 6.4.4", conns: 50, flood: true,
		play: func(p *peer) {
			p.write([]byte("GET / HTTP/1.1\r\n\r\n")...)
			p.listen()
		},
		moves: "iwarp.HandshakeFailures",
	},
	{
		name: "connections that come and go", threat: "RFC 5042 6.4.1", conns: 50, flood: true,
		play: func(p *peer) {
			for range 3 {
				p.startup()
			}
			p.reset()
		},
	},
	{
		name: "connections that idle", threat: "RFC 5042 6.4.2", memory: true, conns: 200,
		play: func(p *peer) {
			p.startup()
			p.null()
			p.stay()
		},
		moves: "oncrpc.TooMany",
	},
}

// null makes a NULL call and waits for its reply, which grants credits.
func (p *peer) null() {
	p.write(p.call(0, noChunks, p.rpc(0))...)
	for p.ok() {
		h, b := p.segment()
		if _, op := rdmap.ParseControl(h.Control); p.ok() && op == rdmap.OpSend {
			var reply rpcrdma.Header
			_, p.err = reply.Parse(b)
			p.credits = int(reply.Credits)
			return
		}
	}
}
