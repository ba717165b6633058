package rdmap

// The draft's codes were never tried on hardware. They were tried on bytes written by hand from the
// text of the draft.

// draftType is the error type, in its place in a Code, of MPA's error codes for enhanced setup in
// draft-ietf-storm-mpa-peer-connect-05 section 8. RFC 6581 has 0 in its place.
const draftType Code = 0x0300

// toDraft returns c as the draft has it.
func (c Code) toDraft() Code {
	if c >= MPACatastrophic && c <= MPARTR {
		return c | draftType
	}
	return c
}

// fromDraft returns c as RFC 6581 has it, and whether it was the draft's.
func (c Code) fromDraft() (code Code, draft bool) {
	if code = c &^ draftType; code.toDraft() == c && c != code {
		return code, true
	}
	return c, false
}
