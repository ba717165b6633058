package roce

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/rc"
)

// Counters adds up what happens on connections: those of the Configs that name it. The zero value
// is ready to use.
type Counters struct {
	connections, setupFailures, rejected, refused,
	packetsSent, packetsReceived, retransmitted, duplicates, outOfSequence,
	timeouts, naksSent, naksReceived, rnrsSent, rnrsReceived,
	cnpsSent, cnpsReceived, badPackets, strays atomic.Uint64
}

// Stats are the values of Counters at one time.
type Stats struct {
	Connections     uint64 // that were set up
	SetupFailures   uint64 // attempts, of either side, that came to nothing
	Rejected        uint64 // requests that were refused, here or by the peer
	Refused         uint64 // of these, requests for which a Listener had no room
	PacketsSent     uint64 // of connections, with acknowledgements
	PacketsReceived uint64 // likewise
	Retransmitted   uint64 // packets of requests that were sent again
	Duplicates      uint64 // packets that had been received before
	OutOfSequence   uint64 // packets that came ahead of one that was lost
	Timeouts        uint64 // times that no acknowledgement came
	NAKsSent        uint64 // without those for a receiver that is not ready
	NAKsReceived    uint64
	RNRsSent        uint64 // NAKs because no memory was there for a message
	RNRsReceived    uint64
	CNPsSent        uint64 // notices of congestion
	CNPsReceived    uint64
	BadPackets      uint64 // with a wrong ICRC, or that are none
	Strays          uint64 // packets of no connection, or from another address than its peer's
}

// Stats returns the present values.
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

// tally is how connections count.
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
