package mpa

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// Initiate sets up MPA as the side that asks. It writes the request, reads the reply, and reads
// nothing behind it. The private data goes to the responder's upper layer: at most MaxPrivateData
// bytes or cfg.PrivateLimit, less EnhancedDataLen if enhanced setup is asked for. More is an error
// that wraps transport.ErrPrivateData.
//
// Set a deadline on conn to bound it. It fails with a *RejectError if the responder refuses, with
// an error that wraps ErrConfig or transport.ErrPrivateData if the caller is at fault, and
// otherwise with a *StartupError.
func Initiate(conn net.Conn, cfg Config, private []byte) (*Setup, error) {
	if err := cfg.ValidateInitiator(private); err != nil {
		return nil, err
	}
	request := cfg.request(private)
	if err := request.write(conn); err != nil {
		return nil, cfg.unanswered(err)
	}
	reply := Frame{Reply: true}
	switch n, err := readFrame(conn, &reply); {
	case err == nil:
		setup, err := cfg.conclude(&reply)
		return setup, cfg.agreed(err, &reply)
	case errors.Is(err, ErrFrame):
		accepted := errors.Is(err, errPDLength) && !reply.Reject && reply.Revision > 0 &&
			cfg.unusableReply(&reply) == nil
		return nil, cfg.agreed(&StartupError{Code: CodeFrame, Terminate: accepted, Err: err}, &reply)
	case n > 0:
		return nil, &StartupError{Code: CodeLost, Err: err}
	default:
		return nil, cfg.unanswered(err)
	}
}

// agreed adds to an error what the reply has settled nevertheless.
func (c *Config) agreed(err error, reply *Frame) error {
	failed, ok := err.(*StartupError)
	if !ok {
		return err
	}
	failed.CRC, failed.Markers = c.wantsCRC() || reply.CRC, reply.Markers
	failed.PeerIRD, failed.PeerORD = unsaid, unsaid
	if d, _, err := reply.split(); err == nil && reply.enhanced() {
		failed.PeerIRD, failed.PeerORD = int(d.IRD), int(d.ORD)
	}
	return err
}

// unanswered returns the error of a connection that ended before a reply. If the request was
// enhanced, the responder may not know enhanced setup (RFC 6581 section 10).
func (c *Config) unanswered(err error) error {
	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	switch {
	case closed && c.wantsEnhanced():
		err = fmt.Errorf("%w: closed without a reply: %w", ErrUnenhanced, err)
	case closed:
		err = fmt.Errorf("peer closed without a reply; does it speak iWARP? %w", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no reply from the peer; does it speak iWARP? %w", err)
	}
	return &StartupError{Code: CodeLost, Err: err}
}

// request returns the frame that an initiator sends: of revision 1 if nothing enhanced is wanted
// (RFC 6581 section 10).
func (c *Config) request(private []byte) *Frame {
	f := &Frame{
		Markers: c.wantsMarkers(), CRC: c.wantsCRC(), Revision: c.revision(), PrivateData: private,
	}
	if !c.wantsEnhanced() {
		return f
	}
	say := c.requestReads()
	d := EnhancedData{PeerToPeer: c.PeerToPeer, IRD: uint16(say.ird), ORD: uint16(say.ord)}
	if c.PeerToPeer {
		d.RTR = c.sends()
	}
	f.Enhanced = true
	f.PrivateData = append(d.Append(nil), private...)
	return f
}

// revision returns the revision that an initiator sends: 2 for an enhanced setup, otherwise 1, or 0
// if this side has no other (RFC 6581 section 6).
func (c *Config) revision() uint8 {
	if c.wantsEnhanced() {
		return 2
	}
	_, highest := c.revisions()
	return uint8(min(1, highest))
}
