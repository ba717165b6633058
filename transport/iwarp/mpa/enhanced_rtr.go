package mpa

// The rules of RFC 6581 section 9.2, as functions of this side's Config and of what the other side
// says.

// sends returns the kinds of RTR that this side can send as initiator.
func (c *Config) sends() RTR {
	if c.RTR == 0 {
		return rtrAll
	}
	return c.RTR
}

// takes returns the kinds of RTR that this side can take as responder. An RTR by Read takes a place
// in the inbound queue like any Read (RFC 6581 section 9.1).
func (c *Config) takes() RTR {
	r := c.sends()
	if c.IRD == 0 {
		r &^= RTRRead
	}
	return r
}

// replyRTR returns the kinds that a responder accepts and those that it names, if the initiator
// offers those in offered: all offered kinds that we take, or, if there are none, all that we take.
func (c *Config) replyRTR(offered RTR) (accept, say RTR) {
	common := offered & c.takes()
	if accept, differs := c.replyDraftRTR(common); differs {
		return accept, 0
	}
	if common == 0 {
		common = c.takes()
	}
	if c.OneRTR {
		common = cheapest(common)
	}
	return common, common
}

// cheapest returns one of the kinds: Write if possible, as it touches no queue of the responder;
// then Read, which must be answered; then Send, which uses up a message number.
func cheapest(r RTR) RTR {
	for _, kind := range []RTR{RTRWrite, RTRRead, RTRSend} {
		if kind&r != 0 {
			return kind
		}
	}
	return 0
}

// concludeRTR returns the kind that an initiator sends when the responder takes those in taken and
// has said peer. A Read needs an IRD, whatever the flag says. If the responder names no kind, a
// Send is meant: RFC 6581 has no such reply, but draft-ietf-storm-mpa-peer-connect-05 section 9
// does.
func (c *Config) concludeRTR(taken RTR, peer reads) (RTR, error) {
	if taken == 0 {
		taken = RTRSend
	}
	if peer.ird == 0 {
		taken &^= RTRRead
	}
	if kind := cheapest(taken & c.sends()); kind != 0 {
		return kind, nil
	}
	return 0, ErrNoMatchingRTR
}
