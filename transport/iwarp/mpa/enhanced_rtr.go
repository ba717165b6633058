package mpa

// The rules of RFC 6581 section 9.2, as functions of what this side is set to and what the
// other side says.

// sends is the kinds of RTR that this side, as initiator, can send.
func (c *Config) sends() RTR {
	if c.RTR == 0 {
		return rtrAll
	}
	return c.RTR
}

// takes is the kinds of RTR that this side, as responder, can take. An RTR by Read is a Read: it
// takes a place in the inbound queue (RFC 6581 section 9.1).
func (c *Config) takes() RTR {
	r := c.sends()
	if c.IRD == 0 {
		r &^= RTRRead
	}
	return r
}

// replyRTR is the kinds that a responder accepts when the initiator offers those in offered, and
// what it says: all of these that we take, or, if none, all that we take.
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

// cheapest is one of the kinds: a Write touches no queue of the responder's, a Read has to be
// answered, and a Send uses up a message number.
func cheapest(r RTR) RTR {
	for _, kind := range []RTR{RTRWrite, RTRRead, RTRSend} {
		if kind&r != 0 {
			return kind
		}
	}
	return 0
}

// concludeRTR is the kind that an initiator sends when the responder takes those in taken and has
// said peer. A Read needs an IRD, whatever the flag says. None taken means a Send: RFC 6581 has no
// such reply, and draft-ietf-storm-mpa-peer-connect-05 says so in section 9.
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
