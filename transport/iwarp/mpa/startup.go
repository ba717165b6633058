package mpa

import (
	"errors"
	"io"
)

// maxRevision is the highest revision of MPA that this package knows (RFC 6581 section 6).
const maxRevision = 2

// unsaid stands for the IRD or ORD of a peer that did not say it.
const unsaid = -1

// refusalCode returns the MPA error code for the reason of a refusal.
func refusalCode(err error) uint8 {
	if errors.Is(err, ErrInsufficientIRD) {
		return CodeIRD
	}
	return CodeFrame // the revision
}

// enhanced reports whether the S bit is set and valid: before revision 2 it is reserved (RFC 6581
// section 6).
func (f *Frame) enhanced() bool { return f.Enhanced && f.Revision == 2 }

// split splits the private data of a frame. Without enhanced data, the IRD and ORD mean nothing.
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

// write writes a frame in one Write.
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

// reads returns the IRD and ORD in d.
func (d *EnhancedData) reads() reads { return reads{int(d.IRD), int(d.ORD)} }
