package mpa

import "fmt"

// negotiate is what a responder makes of a request, and what it says in the reply if that is to be
// enhanced. An error says why the reply has to be a reject.
func (c *Config) negotiate(r *Request) (*Setup, EnhancedData, error) {
	s := &Setup{
		Revision: r.Revision(), Enhanced: r.Enhanced(), CRC: c.CRC || r.CRC(),
		PeerIRD: r.PeerIRD(), PeerORD: r.PeerORD(), PeerToPeer: r.PeerToPeer(), PrivateData: r.PrivateData(),
	}
	err := r.frame.unusable()
	if !s.Enhanced {
		own := c.unenhancedReads()
		s.IRD, s.ORD = own.ird, own.ord
		return s, EnhancedData{}, err
	}
	own, say, short := c.replyReads(r.data.reads())
	if err == nil && short != nil {
		err = fmt.Errorf("%w: peer has %d, we need %d", short, s.PeerIRD, c.RequiredORD)
	}
	s.IRD, s.ORD = own.ird, own.ord
	d := EnhancedData{PeerToPeer: s.PeerToPeer, IRD: uint16(say.ird), ORD: uint16(say.ord)}
	if s.PeerToPeer {
		s.RTR = c.replyRTR(r.RTR())
		d.RTR = s.RTR
	}
	return s, d, err
}
