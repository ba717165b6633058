package roce

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/rc"
)

// Counters counts events on all connections of the Configs that refer to it. The zero value is
// ready to use.
type Counters struct {
	connections, setupFailures, rejected, refused,
	packetsSent, packetsReceived, retransmitted, duplicates, outOfSequence,
	timeouts, naksSent, naksReceived, rnrsSent, rnrsReceived,
	cnpsSent, cnpsReceived, badPackets, strays atomic.Uint64
}

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
}

// Stats returns the current values.
func (c *Counters) Stats() Stats {
	return Stats{
		Connections:     c.connections.Load(),
		SetupFailures:   c.setupFailures.Load(),
		Rejected:        c.rejected.Load(),
		Refused:         c.refused.Load(),
		PacketsSent:     c.packetsSent.Load(),
		PacketsReceived: c.packetsReceived.Load(),
		Retransmitted:   c.retransmitted.Load(),
		Duplicates:      c.duplicates.Load(),
		OutOfSequence:   c.outOfSequence.Load(),
		Timeouts:        c.timeouts.Load(),
		NAKsSent:        c.naksSent.Load(),
		NAKsReceived:    c.naksReceived.Load(),
		RNRsSent:        c.rnrsSent.Load(),
		RNRsReceived:    c.rnrsReceived.Load(),
		CNPsSent:        c.cnpsSent.Load(),
		CNPsReceived:    c.cnpsReceived.Load(),
		BadPackets:      c.badPackets.Load(),
		Strays:          c.strays.Load(),
	}
}

// tally implements rc.Counters for connections.
type tally struct{ *Counters }

var _ rc.Counters = tally{}

func (c tally) Retransmitted() { c.retransmitted.Add(1) }
func (c tally) TimedOut()      { c.timeouts.Add(1) }
func (c tally) Duplicate()     { c.duplicates.Add(1) }
func (c tally) OutOfSequence() { c.outOfSequence.Add(1) }

func (c tally) SentNAK(s bth.Syndrome) {
	if s.IsRNR() {
		c.rnrsSent.Add(1)
	} else {
		c.naksSent.Add(1)
	}
}

func (c tally) ReceivedNAK(s bth.Syndrome) {
	if s.IsRNR() {
		c.rnrsReceived.Add(1)
	} else {
		c.naksReceived.Add(1)
	}
}
