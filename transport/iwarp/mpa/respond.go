package mpa

import (
	"errors"
	"fmt"
	"net"
)

// Request is an initiator's request, which waits for one of Accept and Reject. It is not safe for
// concurrent use.
type Request struct {
	conn     net.Conn
	frame    Frame
	data     EnhancedData // if the frame is enhanced
	private  []byte       // the upper layer's part of the private data
	answered bool
}

// ReadRequest reads a request, and nothing behind it. Set a deadline on conn to bound it. It fails
// with a *StartupError. Nothing has been written then, and the caller closes conn. If the error
// wraps io.EOF, the peer closed without sending anything.
//
// It also returns requests that cannot be accepted because of revision 0. Accept answers them.
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

// Accept accepts the request. It settles what cfg leaves open and writes the reply. The private
// data goes to the initiator's upper layer: at most MaxPrivateData bytes or cfg.PrivateLimit, less
// EnhancedDataLen if the reply is enhanced. More is an error that wraps transport.ErrPrivateData.
// After that error, and after one that wraps ErrConfig, the request can still be answered.
//
// If the request cannot be accepted, Accept answers it and fails with a *StartupError that wraps
//
//   - ErrInsufficientIRD: it was rejected, naming cfg.RequiredORD (RFC 6581 section 9.1);
//   - ErrEnhanced: it was not answered; the caller can only close (RFC 6581 section 10);
//   - ErrRevision, for a request of revision 0: a side without version 0 of DDP and RDMAP rejected
//     it in revision 1 (draft-carrier-rddp-rnic-interop-00 section 5.2.1); a side with version 0
//     rejected it in revision 0, because it does not ask for markers. The caller closes in an
//     orderly way, so that the reply arrives.
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

// Reject refuses the request, with private data as for Accept. An initiator that asked for enhanced
// setup is told the IRD and ORD of cfg, or RequiredORD if its own IRD was too small for that.
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

// begin checks the arguments of Accept or Reject, and then whether there may be a reply. An error
// of the first kind leaves the request unanswered, so the caller can try again.
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

// reply writes the reply, which tells the initiator what s holds.
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

// Snapshot returns a copy of the request that cannot be answered: its Accept and Reject fail with
// ErrSnapshot.
func (r *Request) Snapshot() *Request {
	s := *r
	s.conn = nil
	return &s
}

// PrivateData returns what the initiator's upper layer sent, without the enhanced data.
func (r *Request) PrivateData() []byte { return r.private }

// Revision returns the initiator's revision of MPA, 0 to 2.
func (r *Request) Revision() int { return int(r.frame.Revision) }

// Enhanced reports whether the initiator asks for enhanced setup.
func (r *Request) Enhanced() bool { return r.frame.enhanced() }

// CRC reports whether the initiator wants CRC32C.
func (r *Request) CRC() bool { return r.frame.CRC }

// Markers reports whether the initiator needs markers in what it receives.
func (r *Request) Markers() bool { return r.frame.Markers }

// PeerToPeer reports whether the initiator asks for the peer-to-peer model.
func (r *Request) PeerToPeer() bool { return r.frame.enhanced() && r.data.PeerToPeer }

// RTR returns the kinds of RTR that the initiator offers; none in the client-server model.
func (r *Request) RTR() RTR {
	if !r.PeerToPeer() {
		return 0 // the flags mean nothing (RFC 6581 section 9.2)
	}
	return r.data.RTR
}

// PeerIRD returns the IRD that the initiator said, possibly ReadsManual, or -1 if it said none.
func (r *Request) PeerIRD() int { return r.said(r.data.IRD) }

// PeerORD returns the ORD that the initiator said, possibly ReadsManual, or -1 if it said none.
func (r *Request) PeerORD() int { return r.said(r.data.ORD) }

func (r *Request) said(depth uint16) int {
	if !r.frame.enhanced() {
		return unsaid
	}
	return int(depth)
}
