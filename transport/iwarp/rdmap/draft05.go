package rdmap

// The draft's codes were never tested against hardware, only on bytes written by hand from the text
// of the draft.

// draftType is the error type of MPA's codes for the enhanced setup in
// draft-ietf-storm-mpa-peer-connect-05 section 8, at its place in a Code. RFC 6581 uses error type
// 0 instead.
const draftType Code = 0x0300

// toDraft converts a code of RFC 6581 to that of the draft.
func (c Code) toDraft() Code {
	if c >= MPACatastrophic && c <= MPARTR {
		return c | draftType
	}
	return c
}

// fromDraft converts a code of the draft to that of RFC 6581. It reports whether c was one of the
// draft.
func (c Code) fromDraft() (code Code, draft bool) {
	if code = c &^ draftType; code.toDraft() == c && c != code {
		return code, true
	}
	return c, false
}
