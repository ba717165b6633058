package mpa

import "fmt"

// conclude is what an initiator makes of the reply.
func (c *Config) conclude(reply *Frame) (*Setup, error) {
	if reply.Reject {
		return nil, reply.rejection(c.Enhanced != EnhancedNever)
	}
	if err := reply.unusable(); err != nil {
		// The responder's FPDUs, and those it expects, are not of our kind: no Terminate.
		return nil, &StartupError{Code: refusalCode(err), Err: err}
	}
	switch sent := c.revision(); {
	case reply.Revision > sent:
		return nil, &StartupError{Code: CodeFrame, Err: fmt.Errorf("%w: %d in reply to %d", ErrRevision, reply.Revision, sent)}
	case c.Enhanced != EnhancedNever && !reply.enhanced():
		return nil, &StartupError{Code: CodeFrame, Terminate: true,
			Err: fmt.Errorf("%w: unenhanced reply of revision %d", ErrUnenhanced, reply.Revision)}
	}
	d, private, err := reply.split()
	if err != nil {
		return nil, &StartupError{Code: CodeFrame, Terminate: true, Err: err}
	}
	s := &Setup{
		Initiator: true, Revision: int(reply.Revision), Enhanced: reply.enhanced(),
		CRC:     c.CRC || reply.CRC, // RFC 5044 section 7.1: used if either side wants it
		PeerIRD: unsaid, PeerORD: unsaid, PrivateData: private,
	}
	own := c.unenhancedReads()
	if s.Enhanced {
		if own, err = c.concludeEnhanced(&d, s); err != nil {
			return nil, err
		}
	}
	s.IRD, s.ORD = own.ird, own.ord
	return s, nil
}

// concludeEnhanced checks and enters into s what the responder's enhanced data says. The connection model
// comes first: a responder that has that wrong may mean anything by the rest.
func (c *Config) concludeEnhanced(d *EnhancedData, s *Setup) (own reads, err error) {
	peer := d.reads()
	s.PeerIRD, s.PeerORD = peer.ird, peer.ord
	if d.PeerToPeer != c.PeerToPeer {
		return own, &StartupError{Code: CodeRTR, Terminate: true, Err: ErrModel}
	}
	if own, err = c.concludeReads(peer); err != nil {
		return own, &StartupError{Code: CodeIRD, Terminate: true,
			Err: fmt.Errorf("%w: %d, for an ORD of the peer's of %d", err, own.ird, peer.ord)}
	}
	if !d.PeerToPeer {
		return own, nil // B, C and D mean nothing (RFC 6581 section 9.2)
	}
	s.PeerToPeer = true
	if s.RTR, err = c.concludeRTR(d.RTR, peer); err != nil {
		return own, &StartupError{Code: CodeRTR, Terminate: true,
			Err: fmt.Errorf("%w: peer takes %v with an IRD of %d, we send %v", err, d.RTR, peer.ird, c.sends())}
	}
	return own, nil
}

// rejection is the error for a reply with the R bit. It counts however little else of the reply makes
// sense. The IRD and ORD are there for the upper layer (RFC 6581 section 9.1).
func (f *Frame) rejection(asked bool) *RejectError {
	if d, private, err := f.split(); err == nil && asked && f.enhanced() {
		return &RejectError{PrivateData: private, Enhanced: true, PeerIRD: int(d.IRD), PeerORD: int(d.ORD)}
	}
	return &RejectError{PrivateData: f.PrivateData, PeerIRD: unsaid, PeerORD: unsaid}
}
