package mpa

// The rules of RFC 6581 section 9.1, as functions of this side's Config and of what the other side
// says.

// reads is the read depths of one side.
type reads struct{ ird, ord int }

// requestReads returns what an initiator says.
func (c *Config) requestReads() reads {
	if c.ManualReads {
		return reads{ReadsManual, ReadsManual}
	}
	return reads{c.IRD, c.ORD}
}

// replyReads returns, for a responder, the depths that it uses and those that it says. Peer is what
// the initiator said; taken is the kinds of RTR that the responder takes. It fails if the
// initiator's IRD is too small for RequiredORD; say.ord is then RequiredORD.
//
// The IRD said is the one in use, not lowered to the initiator's ORD. So it covers that ORD, if any
// IRD of ours does, and the RTR by Read of an initiator whose ORD is zero.
func (c *Config) replyReads(peer reads, taken RTR) (own, say reads, err error) {
	own = reads{c.replyDraftIRD(c.IRD, peer, taken), c.ORD}
	if !c.ManualReads && peer.ird != ReadsManual {
		own.ord = min(own.ord, peer.ird)
	}
	say = own
	if c.ManualReads || peer.ord == ReadsManual {
		say.ird = ReadsManual
	}
	switch {
	case c.ManualReads || peer.ird == ReadsManual:
		say.ord = ReadsManual
	case peer.ird < c.RequiredORD:
		say.ord = c.RequiredORD
		err = ErrInsufficientIRD
	}
	return own, say, err
}

// concludeReads returns the depths that an initiator uses when the responder has said peer. It
// fails if the responder's ORD is above our IRD. An initiator that said ReadsManual keeps its own
// depths even if the responder names numbers: its upper layer was told to settle them.
func (c *Config) concludeReads(peer reads) (own reads, err error) {
	own = reads{c.IRD, c.ORD}
	if c.ManualReads {
		return own, nil
	}
	if peer.ord != ReadsManual && peer.ord > own.ird {
		return own, ErrInsufficientIRD
	}
	if peer.ird != ReadsManual {
		own.ord = min(own.ord, peer.ird)
	}
	return own, nil
}

// unenhancedReads returns the depths that either side uses if the other has said none.
func (c *Config) unenhancedReads() reads {
	return reads{c.IRD, min(c.ORD, UnenhancedORD)}
}
