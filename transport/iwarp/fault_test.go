package iwarp_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// TestFaultAgain has a host that breaks the protocol on each of its connections. The log has each
// reason once.
func TestFaultAgain(t *testing.T) {
	r := newRig(t, false, iwarp.Config{CRC: iwarp.CRCOff})
	for range 3 {
		for _, tt := range []struct {
			faulty func(p *peer)
			want   error
		}{
			{func(p *peer) { p.send(segment(toSTag(rdmap.OpWrite, 0x1234567, 0), "x")) }, transport.ErrSTag},
			{func(p *peer) { p.conn.Write([]byte{0, 2, 0x40, 0x40, 0, 0, 0, 0}) }, mpa.ErrLength},
		} {
			p, l := r.connect()
			l.start()
			tt.faulty(p)
			if err := l.ended(); !errors.Is(err, tt.want) {
				t.Errorf("ended with %v, want %v", err, tt.want)
			}
		}
	}
	r.log.want(t, 2, "iwarp: connection ")
	r.wantCounters(map[string]int{"Connections": 6, "TerminatesSent": 3})
}
