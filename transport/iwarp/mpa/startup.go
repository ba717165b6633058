package mpa

import (
	"errors"
	"io"
)

// maxRevision is the highest revision of MPA that is understood (RFC 6581 section 6).
const maxRevision = 2

// unsaid is the IRD and the ORD of a peer that did not say them.
const unsaid = -1

// refusalCode is the MPA error code of a reason to have no connection.
func refusalCode(err error) uint8 {
	if errors.Is(err, ErrInsufficientIRD) {
		return CodeIRD
	}
	return CodeFrame // the revision
}

// enhanced reports whether the S bit is set, and is one: before revision 2 it is reserved (RFC
// 6581 section 6).
func (f *Frame) enhanced() bool { return f.Enhanced && f.Revision == 2 }

// split takes the private data of a frame apart. Where there is no enhanced data, neither do IRD
// and ORD mean anything.
func (f *Frame) split() (d EnhancedData, private []byte, err error) {
	private = f.PrivateData
	if f.enhanced() {
		d, private, err = ParseEnhancedData(f.PrivateData)
	}
	if len(private) == 0 {
		private = nil
	}
	return d, private, err
}

// write writes a frame at once.
func (f *Frame) write(w io.Writer) error {
	if own, ok := w.(FrameConn); ok {
		return own.WriteFrame(f)
	}
	b, err := f.Append(nil)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// reads are the IRD and ORD in d.
func (d *EnhancedData) reads() reads { return reads{int(d.IRD), int(d.ORD)} }
