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

// replyRTR is what a responder says when the initiator offers the kinds in offered: all of these that we
// take, or, if none, all that we take.
func (c *Config) replyRTR(offered RTR) RTR {
	if common := offered & c.takes(); common != 0 {
		return common
	}
	return c.takes()
}

// concludeRTR is the kind that an initiator sends when the responder takes those in taken and has said
// peer: the cheapest first. A Write touches no queue of the peer's, a Read has to be answered, and a
// Send uses up a message number. A Read needs an IRD, whatever the flag says.
func (c *Config) concludeRTR(taken RTR, peer reads) (RTR, error) {
	if peer.ird == 0 {
		taken &^= RTRRead
	}
	for _, kind := range []RTR{RTRWrite, RTRRead, RTRSend} {
		if kind&taken&c.sends() != 0 {
			return kind, nil
		}
	}
	return 0, ErrNoMatchingRTR
}
