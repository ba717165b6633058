package mpa

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

const (
	// EnhancedDataLen is the length of enhanced data in bytes (RFC 6581 section 9).
	EnhancedDataLen = 4

	// MaxReads is the largest IRD and ORD that can be negotiated: 14 bits, less ReadsManual
	// (RFC 6581 section 9.1).
	MaxReads = 0x3FFE

	// ReadsManual in place of an IRD or ORD says that the upper layer settles the number (RFC 6581
	// section 9.1).
	ReadsManual = 0x3FFF
)

// The control flags and the bits beside them (RFC 6581 section 9). A and B are above the IRD, C and
// D above the ORD.
const (
	flagA     = 0x8000 // peer-to-peer model
	flagB     = 0x4000 // RTR by Send
	flagC     = 0x8000 // RTR by RDMA Write
	flagD     = 0x4000 // RTR by RDMA Read
	readsMask = 0x3FFF
)

// RTR is a set of kinds of ready-to-receive indications. An initiator sends one to end the setup of
// a peer-to-peer connection (RFC 6581 section 9.2).
type RTR = ddp.RTR

// The kinds of RTR.
const (
	RTRSend  = ddp.RTRSend
	RTRWrite = ddp.RTRWrite
	RTRRead  = ddp.RTRRead

	rtrAll = RTRSend | RTRWrite | RTRRead
)

// EnhancedData is the beginning of the private data of a frame with the S bit (RFC 6581 section 9).
// It holds what is on the wire, including flags that make no sense together.
type EnhancedData struct {
	PeerToPeer bool   // A: peer-to-peer model; false is client-server
	RTR        RTR    // B, C, D
	IRD, ORD   uint16 // of the sender, at most MaxReads, or ReadsManual
}

// Append appends the encoded data, EnhancedDataLen bytes, to b. It sends the lower 14 bits of IRD
// and ORD.
func (d *EnhancedData) Append(b []byte) []byte {
	ird, ord := d.IRD&readsMask, d.ORD&readsMask
	if d.PeerToPeer {
		ird |= flagA
	}
	if d.RTR&RTRSend != 0 {
		ird |= flagB
	}
	if d.RTR&RTRWrite != 0 {
		ord |= flagC
	}
	if d.RTR&RTRRead != 0 {
		ord |= flagD
	}
	b = binary.BigEndian.AppendUint16(b, ird)
	return binary.BigEndian.AppendUint16(b, ord)
}

// ParseEnhancedData splits private data into the enhanced data at its beginning and the rest, which
// belongs to the upper layer. It fails with an error that wraps ErrFrame if b is shorter than
// EnhancedDataLen.
func ParseEnhancedData(b []byte) (d EnhancedData, rest []byte, err error) {
	if len(b) < EnhancedDataLen {
		return d, nil, frameError(errNoEnhanced)
	}
	ird, ord := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	d = EnhancedData{PeerToPeer: ird&flagA != 0, IRD: ird & readsMask, ORD: ord & readsMask}
	if ird&flagB != 0 {
		d.RTR |= RTRSend
	}
	if ord&flagC != 0 {
		d.RTR |= RTRWrite
	}
	if ord&flagD != 0 {
		d.RTR |= RTRRead
	}
	return d, b[EnhancedDataLen:], nil
}
