package mpa

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
)

const (
	// MaxPrivateData is the maximum length in bytes of the private data of a startup frame,
	// enhanced data included (RFC 5044 section 7.1). Some peers take no more than 256.
	MaxPrivateData = 512

	keyLen         = 16
	frameHeaderLen = keyLen + 4 // in front of the private data
)

// The keys at the beginning of startup frames (RFC 5044 section 7.1, RFC 6581 section 6).
const (
	requestKey = "MPA ID Req Frame"
	replyKey   = "MPA ID Rep Frame"
)

// The bits of the byte behind the key (RFC 5044 section 7.1; S: RFC 6581 section 6).
const (
	bitMarkers  = 0x80
	bitCRC      = 0x40
	bitReject   = 0x20
	bitEnhanced = 0x10
)

// Reasons why bytes are not a startup frame. They come with ErrFrame.
var (
	errKey        = fmt.Errorf("%w: wrong key", ErrNotMPA)
	errRPC        = fmt.Errorf("%w: it speaks RPC over TCP (wrong port?)", ErrNotMPA)
	errPDLength   = fmt.Errorf("private data of more than %d bytes", MaxPrivateData)
	errShortFrame = errors.New("cut short")
	errNoEnhanced = errors.New("private data too short for the enhanced data that the S bit announces")
)

// Frame is a startup frame: MPA Request or MPA Reply (RFC 5044 section 7.1, RFC 6581 section 6). It
// holds what is on the wire, even bits that make no sense together or with this revision; the rules
// of the startup check them.
type Frame struct {
	Reply       bool   // an MPA Reply; false is an MPA Request
	Markers     bool   // M: the sender needs markers in what it receives
	CRC         bool   // C: the sender wants CRC32C
	Reject      bool   // R: the connection is refused; in a reply
	Enhanced    bool   // S: PrivateData begins with enhanced data; a reserved bit before revision 2
	Revision    uint8  // Rev
	PrivateData []byte // at most MaxPrivateData bytes, enhanced data included
}

// FrameConn is a connection of another LLP with its own frames for the startup. For example SCTP
// has session control messages (RFC 6581 section 7). Package mpa negotiates their content. The key,
// the bits M and C, and revision 0 have no meaning there.
type FrameConn interface {
	net.Conn

	// WriteFrame sends a frame. ReadFrame receives the next one; f.Reply says whether that should
	// be a reply or a request. ReadFrame returns a number above 0, or 0 if it fails. It fails with
	// io.EOF if the peer has closed.
	WriteFrame(f *Frame) error
	ReadFrame(f *Frame) (int, error)
}

// Append appends the encoded frame to b. The reserved bits are zero. Private data that does
// not fit is an error that wraps ErrFrame, and b is returned as it was.
func (f *Frame) Append(b []byte) ([]byte, error) {
	if len(f.PrivateData) > MaxPrivateData {
		return b, frameError(errPDLength)
	}
	b = append(b, f.key()...)
	b = append(b, f.bits(), f.Revision)
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.PrivateData)))
	return append(b, f.PrivateData...), nil
}

// ParseFrame decodes the frame at the beginning of b, and returns its length in bytes. The frame
// does not refer to b. Reserved bits are ignored. It fails with an error that wraps ErrFrame.
func ParseFrame(b []byte) (Frame, int, error) {
	if len(b) < frameHeaderLen {
		return Frame{}, 0, frameError(errShortFrame)
	}
	f := Frame{Reply: string(b[:keyLen]) == replyKey}
	if string(b[:keyLen]) != f.key() {
		return Frame{}, 0, wrongKey(b)
	}
	n, err := f.parseHeader([frameHeaderLen]byte(b))
	if err != nil {
		return Frame{}, 0, err
	}
	if len(b)-frameHeaderLen < n {
		return Frame{}, 0, frameError(errShortFrame)
	}
	n += frameHeaderLen
	f.PrivateData = append(f.PrivateData, b[frameHeaderLen:n]...)
	return f, n, nil
}

// wrongKey returns the error for bytes that do not begin like a frame. It recognizes a common
// mistake: to mount over TCP at the port for RDMA.
func wrongKey(b []byte) error {
	// A record mark of the last fragment, of less than 64 KiB (RFC 5531 section 11); then any
	// transaction id, and a call of RPC version 2 (section 9).
	const mark, call = "\x80\x00", "\x00\x00\x00\x00\x00\x00\x00\x02"
	if len(b) >= keyLen && string(b[:2]) == mark && string(b[8:keyLen]) == call {
		return frameError(errRPC)
	}
	return frameError(errKey)
}

// key returns the 16 bytes at the beginning of the frame.
func (f *Frame) key() string {
	if f.Reply {
		return replyKey
	}
	return requestKey
}

// bits returns the byte behind the key.
func (f *Frame) bits() (b byte) {
	if f.Markers {
		b |= bitMarkers
	}
	if f.CRC {
		b |= bitCRC
	}
	if f.Reject {
		b |= bitReject
	}
	if f.Enhanced {
		b |= bitEnhanced
	}
	return b
}

// parseHeader decodes what follows the key, and returns PD_Length.
func (f *Frame) parseHeader(h [frameHeaderLen]byte) (int, error) {
	bits := h[keyLen]
	f.Markers = bits&bitMarkers != 0
	f.CRC = bits&bitCRC != 0
	f.Reject = bits&bitReject != 0
	f.Enhanced = bits&bitEnhanced != 0
	f.Revision = h[keyLen+1]
	n := int(binary.BigEndian.Uint16(h[keyLen+2:]))
	if n > MaxPrivateData {
		return 0, frameError(errPDLength)
	}
	return n, nil
}
