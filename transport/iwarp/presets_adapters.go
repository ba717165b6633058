package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"

// The presets for adapters were never tried on hardware. They are read from the adapters' drivers
// in Linux 6.1, and were tried with scripted peers that do what these drivers do.

// ChelsioConfig is for adapters of Chelsio, with Linux's cxgb4.
//
// What is set, and why:
//
//   - Enhanced: required. With revision 1 the adapter sends, and expects, an RTR that nobody has
//     agreed on. To dial that way is not tried. A Listener takes the RTR, as the RDMA Read of no
//     bytes that it is, given an IRD.
//   - RTR: Read. Dialing the adapter offers a Read, and no other. Listening it names a Read
//     whatever is offered, but waits for a Write if that is: only a Read must be. An adapter whose
//     parameter p2p_type is 0 has to do with Writes alone.
//   - OneRTR: of several kinds in a reply the adapter sees the Write, finds that it cannot send
//     that, and terminates.
//   - CRC: on. The adapter wants it always.
//   - PrivateLimit: 255. The adapter drops the connection at more than 256 bytes, and at 256 its
//     reply has zeros for private data.
//   - MaxSegment: an FPDU in each TCP segment, which is what MPA is made for. How the adapter takes
//     others its firmware alone knows.
//   - NudgeAfter: none. siw alone needs it.
//
// What is not: PeerToPeer, since a listening adapter takes either model, and a dialing one asks;
// Markers, which the adapter does not want, but inserts if asked to; IRD and ORD, of which it has
// up to 32, and takes mpa.ReadsManual for a number.
//
// The adapter's Terminates about the setup are those of draft-ietf-storm-mpa-peer-connect-05, which
// are understood without Draft05.
func ChelsioConfig() Config {
	return Config{
		Enhanced:     mpa.EnhancedRequired,
		RTR:          mpa.RTRRead,
		OneRTR:       true,
		CRC:          CRCOn,
		PrivateLimit: privateLimit,
		MaxSegment:   mpa.FPDUPerTCPSegment,
		NudgeAfter:   -1,
	}
}

// IntelConfig is for adapters of Intel, with Linux's irdma.
//
// What is set, and why:
//
//   - PeerToPeer: the adapter knows no other model in an enhanced setup, and resets the connection
//     if asked for it. Without PeerToPeer a Dialer with mpa.EnhancedAuto falls back to revision 1,
//     which the adapter takes.
//   - RTR: Write or Read. The adapter sends and takes a Read or, if it is not among the kinds in
//     the peer's frame, a Write. It sends a Read in revision 1, too, so a Listener needs an IRD
//     there.
//   - CRC: on. The adapter has it always.
//   - PrivateLimit: 255. The adapter takes 512 bytes, if they come in one TCP segment with the rest
//     of the frame, but of their number Linux goes by the low eight bits. In an enhanced setup the
//     upper layer there finds four more bytes behind them, which mean nothing.
//   - MaxSegment: an FPDU in each TCP segment, which is what MPA is made for. How the adapter takes
//     others its firmware alone knows.
//   - NudgeAfter: none. siw alone needs it.
//
// What is not: Markers, which the adapter does not want, but inserts if asked to; IRD and ORD, of
// which an X722 has up to 63 and 127, an E810 127 and 255. They know mpa.ReadsManual. A reply with
// an ORD above the IRD of the request they answer with a reset; no Listener sends one.
func IntelConfig() Config {
	return Config{
		PeerToPeer:   true,
		RTR:          mpa.RTRWrite | mpa.RTRRead,
		CRC:          CRCOn,
		PrivateLimit: privateLimit,
		MaxSegment:   mpa.FPDUPerTCPSegment,
		NudgeAfter:   -1,
	}
}
