package mpa

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// conclude returns the Setup that follows from the reply.
func (c *Config) conclude(reply *Frame) (*Setup, error) {
	if reply.Reject {
		return nil, c.rejection(reply)
	}
	if err := c.unusableReply(reply); err != nil {
		// We cannot exchange FPDUs with such a responder, so no Terminate is possible.
		return nil, &StartupError{Code: refusalCode(err), Err: err}
	}
	if c.wantsEnhanced() && !reply.enhanced() && !c.downgrades(reply) {
		return nil, &StartupError{Code: CodeFrame, Terminate: reply.Revision > 0,
			Err: fmt.Errorf("%w: unenhanced reply of revision %d", ErrUnenhanced, reply.Revision)}
	}
	d, private, err := reply.split()
	if err != nil {
		return nil, &StartupError{Code: CodeFrame, Terminate: true, Err: err}
	}
	s := &Setup{
		Setup:    ddp.Setup{Initiator: true, Draft05: c.Draft05, PrivateData: private},
		Revision: int(reply.Revision), Enhanced: reply.enhanced(),
		PeerIRD: unsaid, PeerORD: unsaid,
	}
	c.settle(s, reply)
	own := c.unenhancedReads()
	if s.Enhanced {
		if own, err = c.concludeEnhanced(&d, s); err != nil {
			return nil, err
		}
	}
	s.IRD, s.ORD = own.ird, own.ord
	return s, nil
}

// concludeEnhanced checks the responder's enhanced data and enters it into s. It checks the
// connection model first: if that is wrong, the rest may mean anything.
func (c *Config) concludeEnhanced(d *EnhancedData, s *Setup) (own reads, err error) {
	peer := d.reads()
	s.PeerIRD, s.PeerORD = peer.ird, peer.ord
	if d.PeerToPeer != c.PeerToPeer {
		return own, &StartupError{Code: CodeRTR, Terminate: true, Err: ErrConnectionModel}
	}
	if own, err = c.concludeReads(peer); err != nil {
		return own, &StartupError{Code: CodeIRD, Terminate: true,
			Err: fmt.Errorf("%w: ours is %d, the peer's ORD is %d", err, own.ird, peer.ord)}
	}
	if !d.PeerToPeer {
		return own, nil // B, C and D mean nothing (RFC 6581 section 9.2)
	}
	s.PeerToPeer, s.AnySend = true, d.RTR == 0
	if s.RTR, err = c.concludeRTR(d.RTR, peer); err != nil {
		return own, &StartupError{Code: CodeRTR, Terminate: true,
			Err: fmt.Errorf("%w: peer takes %v with an IRD of %d, we send %v", err,
				d.RTR, peer.ird, c.sends())}
	}
	return own, nil
}

// unusableReply returns an error if the revision of a reply makes a connection impossible.
func (c *Config) unusableReply(reply *Frame) error {
	if sent := c.revision(); reply.Revision > sent {
		return fmt.Errorf("%w: %d in reply to %d", ErrRevision, reply.Revision, sent)
	}
	return c.unusable(reply)
}

// rejection returns the error for a reply with the R bit, which counts even if the rest of the
// reply makes no sense. The IRD and ORD are for the upper layer (RFC 6581 section 9.1).
func (c *Config) rejection(f *Frame) *RejectError {
	e := &RejectError{
		PrivateData: f.PrivateData, PeerIRD: unsaid, PeerORD: unsaid, Err: c.rejected0(f),
	}
	if d, private, err := f.split(); err == nil && c.wantsEnhanced() && f.enhanced() {
		e.PrivateData, e.Enhanced, e.PeerIRD, e.PeerORD = private, true, int(d.IRD), int(d.ORD)
	}
	return e
}
