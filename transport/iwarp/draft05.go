package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// This file, and the one of the same name in rdmap, hold what draft-ietf-storm-mpa-peer-connect-05
// changes after the startup; rdmap has the error type of Terminate messages. The dialect was never
// tested against hardware, only against scripted peers and bytes written by hand from the text of
// the draft.

// upperSend reports whether a first segment belongs to a Send of the upper layer, which replaces
// the RTR if the responder has named no kind (section 9 of the draft).
func upperSend(op rdmap.Opcode, h *ddp.Header, payload []byte) bool {
	switch op {
	case rdmap.OpSend:
		return len(payload) > 0 || !h.Last // an empty one is the RTR
	case rdmap.OpSendInvalidate, rdmap.OpSendSE, rdmap.OpSendSEInvalidate:
		return true
	}
	return false
}
