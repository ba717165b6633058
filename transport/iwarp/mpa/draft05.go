package mpa

// This file holds all that Config.Draft05 changes in the startup: the dialect of
// draft-ietf-storm-mpa-peer-connect-05, the predecessor of RFC 6581. It was never tested against
// hardware, only against scripted peers and bytes written by hand from the text of the draft.

// replyDraftRTR does what replyRTR does, where the draft differs: if there is no common kind, the
// reply names none, and the initiator's upper layer must send first (section 9 of the draft).
func (c *Config) replyDraftRTR(common RTR) (accept RTR, differs bool) {
	if !c.Draft05 || common != 0 || c.takes()&RTRSend == 0 {
		return 0, false
	}
	return RTRSend, true
}

// replyDraftIRD lowers the IRD of a responder to the initiator's ORD, as the draft wants, but
// leaves 1 for an RTR by Read.
func (c *Config) replyDraftIRD(ird int, peer reads, taken RTR) int {
	if !c.Draft05 || c.ManualReads || peer.ord == ReadsManual {
		return ird
	}
	least := 0
	if taken&RTRRead != 0 {
		least = 1
	}
	return min(ird, max(peer.ord, least))
}
