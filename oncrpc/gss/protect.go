package gss

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

var (
	// errBody says that arguments or results do not have the form that the service requires.
	errBody = errors.New("body is malformed")
	// errSequence says that the sequence number in the body is not that of the call.
	errSequence = errors.New("body has the sequence number of another call")
)

// message is a message protected by a context, with reusable memory.
type message struct {
	context Context
	service Service
	seq     uint32

	number [4]byte // seq as encoded
	mic    []byte
	parts  [][]byte
	one    [1][]byte
}

// begin prepares for a new message.
func (m *message) begin(c Context, s Service, seq uint32) {
	m.context, m.service, m.seq = c, s, seq
	binary.BigEndian.PutUint32(m.number[:], seq)
}

// end forgets the message and keeps the memory.
func (m *message) end() { m.context = nil }

// appendMIC appends the checksum of msg to dst.
func (m *message) appendMIC(dst, msg []byte) ([]byte, error) {
	m.one[0] = msg
	dst, err := m.context.AppendMIC(dst, m.one[:])
	m.one[0] = nil
	return dst, err
}

// verifyMIC checks the checksum of msg.
func (m *message) verifyMIC(mic, msg []byte) error {
	m.one[0] = msg
	err := m.context.VerifyMIC(mic, m.one[:])
	m.one[0] = nil
	return err
}

// protect appends arguments or results to e in the form that the service requires (RFC 2203 section
// 5.3.2).
func (m *message) protect(e *xdr.Encoder, data *xdr.Message) error {
	switch m.service {
	case None:
		e.Append(data)
		return nil
	case Integrity:
		return m.sign(e, data)
	}
	return m.encrypt(e, data)
}

// sign appends rpc_gss_integ_data (RFC 2203 section 5.3.2.2).
func (m *message) sign(e *xdr.Encoder, data *xdr.Message) error {
	n := len(m.number) + data.Len()
	if n > maxBody {
		return xdr.ErrLimit
	}
	e.Uint32(uint32(n))
	body := e.Extend(n)
	m.gather(data)
	room := body
	for _, p := range m.parts {
		room = room[copy(room, p):]
	}
	m.scattered()
	var err error
	if m.mic, err = m.appendMIC(m.mic[:0], body); err != nil {
		return err
	}
	e.Opaque(m.mic, maxChecksum)
	return nil
}

// encrypt appends rpc_gss_priv_data (RFC 2203 section 5.3.2.3).
func (m *message) encrypt(e *xdr.Encoder, data *xdr.Message) error {
	plain := len(m.number) + data.Len()
	n := m.context.WrapLen(plain)
	if n > maxBody {
		return xdr.ErrLimit
	}
	e.Uint32(uint32(n))
	room := e.Extend(xdr.RoundUp(n))
	m.gather(data)
	token, err := m.context.AppendWrap(room[:0:n], m.parts)
	m.scattered()
	if err != nil {
		return err
	}
	if len(token) != n || &token[0] != &room[0] {
		return fmt.Errorf("mechanism made %d bytes of %d, but announced %d", len(token),
			plain, n)
	}
	clear(room[n:])
	return nil
}

// gather sets parts to the body of a message: rpc_gss_data_t (RFC 2203 section 5.3.2.2).
func (m *message) gather(data *xdr.Message) {
	m.parts = data.AppendPieces(append(m.parts[:0], m.number[:]), nil)
}

// scattered clears parts.
func (m *message) scattered() {
	m.parts = m.parts[:cap(m.parts)]
	clear(m.parts)
	m.parts = m.parts[:0]
}

// open checks or decrypts the rest of d and resets d to the plain arguments or results. They lie in
// the same memory, where they are decrypted.
func (m *message) open(d *xdr.Decoder) error {
	var body []byte
	switch m.service {
	case None:
		return nil
	case Integrity:
		body = d.Opaque(maxBody)
		mic := d.Opaque(maxChecksum)
		if err := d.Finish(); err != nil {
			return fmt.Errorf("%w: %w", errBody, err)
		}
		if err := m.verifyMIC(mic, body); err != nil {
			return err
		}
	default:
		token := d.Opaque(maxBody)
		if err := d.Finish(); err != nil {
			return fmt.Errorf("%w: %w", errBody, err)
		}
		var err error
		if body, err = m.context.Unwrap(token); err != nil {
			return err
		}
	}
	if len(body) < len(m.number) {
		return errBody
	}
	if binary.BigEndian.Uint32(body) != m.seq {
		return errSequence
	}
	d.Reset(body[len(m.number):], nil)
	return nil
}

// slack returns how many bytes a message grows by at most, rounded up: the verifier's body, and the
// protection of arguments or results.
func slack(c Context, s Service) int {
	verifier := xdr.RoundUp(c.MaxMIC())
	switch s {
	case None:
		return verifier
	case Integrity:
		return verifier + 4 + 4 + 4 + verifier
	}
	most := 0
	for n := 0; n < 256; n += 4 {
		most = max(most, xdr.RoundUp(c.WrapLen(4+n))-n)
	}
	return verifier + 4 + most
}
