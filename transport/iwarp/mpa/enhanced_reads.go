package mpa

// The rules of RFC 6581 section 9.1, as functions of what this side is set to and what the
// other side says.

// reads are the read depths of one side.
type reads struct{ ird, ord int }

// requestReads is what an initiator says.
func (c *Config) requestReads() reads {
	if c.ManualReads {
		return reads{ReadsManual, ReadsManual}
	}
	return reads{c.IRD, c.ORD}
}

// replyReads is what a responder that takes the kinds of RTR in taken uses, and what it says, when
// the initiator has said peer. An IRD of the initiator's that is too small for RequiredORD is an
// error; then say.ord is what is required.
//
// The IRD said is the one in use, not lowered to the initiator's ORD: it covers that, if any IRD of
// ours does, and the RTR by Read of an initiator whose ORD is zero.
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

// concludeReads is what an initiator uses when the responder has said peer. An ORD of the
// responder's above our IRD is an error. An initiator that said ReadsManual keeps its own values
// even if the responder does not know about that and names numbers: its upper layer has been told
// to settle them.
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

// unenhancedReads is what either side uses when the other has said nothing.
func (c *Config) unenhancedReads() reads {
	return reads{c.IRD, min(c.ORD, UnenhancedORD)}
}
