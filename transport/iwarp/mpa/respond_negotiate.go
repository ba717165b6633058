package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// negotiate returns the Setup that follows from a request, and the enhanced data for the reply. An
// error says why the reply must be a reject.
func (c *Config) negotiate(r *Request) (*Setup, EnhancedData, error) {
	s := &Setup{
		Setup:    ddp.Setup{Draft05: c.Draft05, PrivateData: r.PrivateData()},
		Revision: c.replyRevision(r), Enhanced: c.replyEnhanced(r),
		PeerIRD: r.PeerIRD(), PeerORD: r.PeerORD(), PeerToPeer: c.replyEnhanced(r) && r.PeerToPeer(),
	}
	c.settle(s, &r.frame)
	err := c.unusable(&r.frame)
	if !s.Enhanced {
		s.PeerIRD, s.PeerORD = unsaid, unsaid
		own := c.unenhancedReads()
		s.IRD, s.ORD = own.ird, own.ord
		return s, EnhancedData{}, err
	}
	d := EnhancedData{PeerToPeer: s.PeerToPeer}
	if s.PeerToPeer {
		s.RTR, d.RTR = c.replyRTR(r.RTR())
		s.AnySend = d.RTR == 0
	}
	own, say, short := c.replyReads(r.data.reads(), s.RTR)
	if err == nil && short != nil {
		err = fmt.Errorf("%w: peer has %d, we need %d", short, s.PeerIRD, c.RequiredORD)
	}
	s.IRD, s.ORD = own.ird, own.ord
	d.IRD, d.ORD = uint16(say.ird), uint16(say.ord)
	return s, d, err
}

// replyRevision returns the revision of the reply: that of the request, or the closest that we
// have.
func (c *Config) replyRevision(r *Request) int {
	lowest, highest := c.revisions()
	return min(max(r.Revision(), lowest), highest)
}

// replyEnhanced reports whether the reply is enhanced: if the request is, and this side knows that.
func (c *Config) replyEnhanced(r *Request) bool { return r.Enhanced() && !c.rdmac() }
