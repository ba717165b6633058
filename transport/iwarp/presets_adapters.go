package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"

// The presets for adapters were never tested against hardware. They follow the drivers in Linux
// 6.1, and were tested with scripted peers that do what these drivers do.

// ChelsioConfig is the Config for Chelsio adapters with Linux's cxgb4.
//
// It sets:
//
//   - Enhanced to required. In revision 1 the adapter sends, and expects, an RTR that was not
//     negotiated, so a Dialer does not try revision 1. A Listener with an IRD takes that RTR as the
//     RDMA Read of length zero that it is.
//   - RTR to Read. As the dialing side, the adapter offers only a Read. As the listening side, it
//     names a Read whatever is offered, but waits for a Write if one is offered; so only a Read may
//     be offered. An adapter with the parameter p2p_type=0 needs Writes only instead.
//   - OneRTR. If a reply has several kinds, the adapter chooses the Write, finds that it cannot
//     send it, and terminates.
//   - CRC to on. The adapter always wants it.
//   - PrivateLimit to 255. The adapter drops a connection with more than 256 bytes. With 256, its
//     reply has zeros for private data.
//   - MaxSegment to one FPDU in each TCP segment, as MPA intends. How the adapter handles others is
//     up to its firmware.
//   - NudgeAfter to none. Only siw needs it.
//
// It leaves alone:
//
//   - PeerToPeer: a listening adapter takes either model, and a dialing one asks for it.
//   - Markers: the adapter does not want them, but inserts them if asked to.
//   - IRD and ORD: the adapter has up to 32. It takes mpa.ReadsManual for a number.
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

// IntelConfig is the Config for Intel adapters with Linux's irdma.
//
// It sets:
//
//   - PeerToPeer. In an enhanced setup the adapter knows no other model, and resets the connection
//     if asked for it. Without PeerToPeer, a Dialer with mpa.EnhancedAuto falls back to revision 1,
//     which the adapter accepts.
//   - RTR to Write or Read. The adapter sends and takes a Read or, if the peer's frame does not
//     have that, a Write. It sends a Read in revision 1, too, so a Listener needs an IRD there.
//   - CRC to on. The adapter always has it.
//   - PrivateLimit to 255. The adapter takes 512 bytes if they come in one TCP segment with the
//     rest of the frame, but Linux uses only the low eight bits of their length. In an enhanced
//     setup the upper layer there finds four more bytes behind them, which mean nothing.
//   - MaxSegment to one FPDU in each TCP segment, as MPA intends. How the adapter handles others is
//     up to its firmware.
//   - NudgeAfter to none. Only siw needs it.
//
// It leaves alone:
//
//   - Markers: the adapter does not want them, but inserts them if asked to.
//   - IRD and ORD: an X722 has up to 63 and 127, an E810 up to 127 and 255. Both know
//     mpa.ReadsManual. They reset the connection if a reply has an ORD above the IRD of their
//     request; no Listener sends such a reply.
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
