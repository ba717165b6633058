package roce

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/stats"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/rc"
)

// Counters counts events on all connections of the Configs that refer to it. The zero value is
// ready to use.
type Counters struct{ stats Stats }

// Stats is a snapshot of Counters.
type Stats struct {
	Connections     uint64 // connections set up
	SetupFailures   uint64 // failed attempts, of either side
	Rejected        uint64 // requests refused, here or by the peer
	Refused         uint64 // of these, requests refused for lack of room
	PacketsSent     uint64 // of connections, acknowledgements included
	PacketsReceived uint64 // likewise
	Retransmitted   uint64 // packets of requests sent again
	Duplicates      uint64 // packets received before
	OutOfSequence   uint64 // packets that came ahead of a lost one
	Timeouts        uint64 // retransmission timeouts
	NAKsSent        uint64 // RNR NAKs excluded
	NAKsReceived    uint64
	RNRsSent        uint64 // NAKs for "receiver not ready": no memory for a message
	RNRsReceived    uint64
	CNPsSent        uint64 // congestion notifications
	CNPsReceived    uint64
	BadPackets      uint64 // packets with a wrong ICRC or a bad header
	Strays          uint64 // packets of no connection, or not from its peer's address
	Dropped         uint64 // packets of hosts that were held up, for which there was no room
}

// Stats returns the current values.
func (c *Counters) Stats() Stats { return stats.Load(&c.stats) }

// tally implements rc.Counters for connections.
type tally struct{ *Counters }

var _ rc.Counters = tally{}

func (c tally) Retransmitted() { atomic.AddUint64(&c.stats.Retransmitted, 1) }
func (c tally) TimedOut()      { atomic.AddUint64(&c.stats.Timeouts, 1) }
func (c tally) Duplicate()     { atomic.AddUint64(&c.stats.Duplicates, 1) }
func (c tally) OutOfSequence() { atomic.AddUint64(&c.stats.OutOfSequence, 1) }

func (c tally) SentNAK(s bth.Syndrome) {
	if s.IsRNR() {
		atomic.AddUint64(&c.stats.RNRsSent, 1)
	} else {
		atomic.AddUint64(&c.stats.NAKsSent, 1)
	}
}

func (c tally) ReceivedNAK(s bth.Syndrome) {
	if s.IsRNR() {
		atomic.AddUint64(&c.stats.RNRsReceived, 1)
	} else {
		atomic.AddUint64(&c.stats.NAKsReceived, 1)
	}
}
