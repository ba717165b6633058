package mpa

import (
	"errors"
	"fmt"
	"net"
)

// Request is an initiator that waits for an answer: one of Accept and Reject. It is not for
// concurrent use.
type Request struct {
	conn     net.Conn
	frame    Frame
	data     EnhancedData // if the frame is enhanced
	private  []byte       // the upper layer's part of the frame's
	answered bool
}

// ReadRequest reads a request for a connection, and nothing behind it. How long that takes is for
// conn's deadline to say. It fails with a *StartupError: nothing has been written then, and the
// caller closes conn. If that wraps io.EOF the peer closed without a word.
//
// Requests that cannot be accepted because of revision 0 come as others do: Accept answers them.
func ReadRequest(conn net.Conn) (*Request, error) {
	r := &Request{conn: conn}
	_, err := readFrame(conn, &r.frame)
	if err == nil && r.frame.Revision > maxRevision {
		err = frameError(fmt.Errorf("%w: %d", ErrRevision, r.frame.Revision))
	}
	if err == nil {
		r.data, r.private, err = r.frame.split()
	}
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, ErrFrame):
		return nil, &StartupError{Code: CodeFrame, Err: err}
	default:
		return nil, &StartupError{Code: CodeLost, Err: err}
	}
}

// Accept makes the connection: it settles what cfg leaves open and writes the reply, with private
// data for the initiator's upper layer, at most MaxPrivateData bytes or cfg.PrivateLimit, less
// EnhancedDataLen if the reply is enhanced. More is an error that wraps transport.ErrPrivateData;
// after that, as after ErrConfig, the request can still be answered.
//
// A request that cannot be accepted is answered as it must be, and Accept fails with a
// *StartupError. It wraps
//   - ErrInsufficientIRD: rejected, with cfg.RequiredORD (RFC 6581 section 9.1);
//   - ErrEnhanced: there is no answer but to close (RFC 6581 section 10);
//   - ErrRevision, for a request of revision 0: where there is no version 0 of DDP and RDMAP it is
//     rejected in revision 1 (draft-carrier-rddp-rnic-interop-00 section 5.2.1), and elsewhere, if
//     it does not ask for markers, in revision 0. An orderly close lets the reply arrive.
func (r *Request) Accept(cfg Config, private []byte) (*Setup, error) {
	if err := r.begin(&cfg, private); err != nil {
		return nil, err
	}
	s, d, err := cfg.negotiate(r)
	if err != nil {
		if werr := r.reply(s, &d, true, nil); werr != nil {
			err = fmt.Errorf("%w; the reject could not be sent: %w", err, werr)
		}
		return nil, &StartupError{Code: refusalCode(err), Err: err}
	}
	if err := r.reply(s, &d, false, private); err != nil {
		return nil, &StartupError{Code: CodeLost, Err: err}
	}
	return s, nil
}

// Reject refuses the connection, with private data as for Accept. Of cfg the IRD and ORD are told
// to an initiator that asked for enhanced setup, RequiredORD if it is what was missing.
func (r *Request) Reject(cfg Config, private []byte) error {
	if err := r.begin(&cfg, private); err != nil {
		return err
	}
	s, d, _ := cfg.negotiate(r) // refused already
	if err := r.reply(s, &d, true, private); err != nil {
		return &StartupError{Code: CodeLost, Err: err}
	}
	return nil
}

// begin checks what the caller has passed, and then whether there is to be a reply. It is the
// caller's only chance to come again.
func (r *Request) begin(cfg *Config, private []byte) error {
	if r.conn == nil {
		return ErrSnapshot
	}
	if r.answered {
		return ErrAnswered
	}
	if err := cfg.ValidateResponder(); err != nil {
		return err
	}
	if err := cfg.checkPrivate(private, cfg.replyEnhanced(r)); err != nil {
		return err
	}
	r.answered = true
	if r.frame.enhanced() && cfg.Enhanced == EnhancedNever {
		return &StartupError{Code: CodeFrame, Err: ErrEnhanced}
	}
	return nil
}

// reply writes the reply, by which s is known to the initiator.
func (r *Request) reply(s *Setup, d *EnhancedData, reject bool, private []byte) error {
	f := Frame{
		Reply: true, Reject: reject, Markers: s.MarkersIn, CRC: s.CRC, Enhanced: s.Enhanced,
		Revision: uint8(s.Revision), PrivateData: private,
	}
	if f.Enhanced {
		f.PrivateData = append(d.Append(nil), private...)
	}
	return f.write(r.conn)
}

// Snapshot returns the request without the ability to answer it: its Accept and Reject fail with
// ErrSnapshot.
func (r *Request) Snapshot() *Request {
	s := *r
	s.conn = nil
	return &s
}

// PrivateData is what the initiator's upper layer sent, without the enhanced data.
func (r *Request) PrivateData() []byte { return r.private }

// Revision is the initiator's, 0 to 2.
func (r *Request) Revision() int { return int(r.frame.Revision) }

// Enhanced reports whether the initiator asks for enhanced setup.
func (r *Request) Enhanced() bool { return r.frame.enhanced() }

// CRC reports whether the initiator wants CRC32C.
func (r *Request) CRC() bool { return r.frame.CRC }

// Markers reports whether the initiator needs markers in what it receives.
func (r *Request) Markers() bool { return r.frame.Markers }

// PeerToPeer reports whether the initiator asks for the peer-to-peer model.
func (r *Request) PeerToPeer() bool { return r.frame.enhanced() && r.data.PeerToPeer }

// RTR is the kinds of RTR that the initiator offers, none in the client-server model.
func (r *Request) RTR() RTR {
	if !r.PeerToPeer() {
		return 0 // the flags mean nothing (RFC 6581 section 9.2)
	}
	return r.data.RTR
}

// PeerIRD is the initiator's IRD as it said it, be it ReadsManual, or -1 if it did not.
func (r *Request) PeerIRD() int { return r.said(r.data.IRD) }

// PeerORD is the initiator's ORD likewise.
func (r *Request) PeerORD() int { return r.said(r.data.ORD) }

func (r *Request) said(depth uint16) int {
	if !r.frame.enhanced() {
		return unsaid
	}
	return int(depth)
}
