package mpa

// What Config.Draft05 changes in the startup is in this file: the dialect of
// draft-ietf-storm-mpa-peer-connect-05, from before RFC 6581. It was never tried on hardware. It
// was tried with scripted peers, on bytes written by hand from the text of the draft.

// replyDraftRTR is replyRTR in the draft's dialect, where it differs: no common kind means that the
// initiator's upper layer has to send first, and nothing is said then (section 9 of the draft).
func (c *Config) replyDraftRTR(common RTR) (accept RTR, differs bool) {
	if !c.Draft05 || common != 0 || c.takes()&RTRSend == 0 {
		return 0, false
	}
	return RTRSend, true
}

// replyDraftIRD lowers the IRD of a responder to the initiator's ORD, in the draft's dialect, as
// far as an RTR by Read allows.
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
