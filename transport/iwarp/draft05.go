package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// What draft-ietf-storm-mpa-peer-connect-05 changes behind the startup is in this file, and in that
// of the same name in rdmap, which has the error type of Terminate messages. It was never tried on
// hardware. It was tried with scripted peers, on bytes written by hand from the text of the draft.

// upperSend reports whether a first segment is of a Send of the upper layer's, which takes the
// place of the RTR where the responder has named no kind (section 9 of the draft).
func upperSend(op rdmap.Opcode, h *ddp.Header, payload []byte) bool {
	switch op {
	case rdmap.OpSend:
		return len(payload) > 0 || !h.Last // else it is the RTR
	case rdmap.OpSendInvalidate, rdmap.OpSendSE, rdmap.OpSendSEInvalidate:
		return true
	}
	return false
}
