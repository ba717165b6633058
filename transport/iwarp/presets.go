package iwarp

import "github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"

// The presets are what connections with some kinds of peer need, or stand: a Config to begin with.

// SiwConfig is for Linux's Soft-iWARP, siw, which the zero Config is good for, too. Markers it refuses, and longer private data it drops, or passes on
// wrongly: 251 bytes of the upper layer's are the most. It takes up to 128 RDMA Reads, and as RTR a Write or a Read.
func SiwConfig() Config {
	return Config{
		RTR:          mpa.RTRWrite | mpa.RTRRead,
		Markers:      mpa.MarkersOff,
		PrivateLimit: 255,
	}
}

// ChelsioConfig is for adapters of Chelsio, with Linux's cxgb4: FPDUs of a TCP segment each, with CRC, at most 256 bytes of private data, and
// in the peer-to-peer model, which they ask for by default, one kind of RTR in the reply, which is a Read.
func ChelsioConfig() Config {
	return Config{
		RTR:          mpa.RTRRead,
		OneRTR:       true,
		CRC:          CRCOn,
		Markers:      mpa.MarkersOff,
		PrivateLimit: 256,
		MaxSegment:   mpa.OneSegment,
	}
}

// IntelConfig is for adapters of Intel, with Linux's irdma: they have CRC always, FPDUs of a TCP segment each, and know enhanced setup in the peer-to-peer model alone, with an
// RTR by Write or by Read.
func IntelConfig() Config {
	return Config{
		Enhanced:   mpa.EnhancedRequired,
		PeerToPeer: true,
		RTR:        mpa.RTRWrite | mpa.RTRRead,
		CRC:        CRCOn,
		Markers:    mpa.MarkersOff,
		MaxSegment: mpa.OneSegment,
	}
}
