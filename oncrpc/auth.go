package oncrpc

import (
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// AuthFlavor is the number of an authentication flavour (RFC 5531 section 8.2).
type AuthFlavor uint32

// Flavours with names. Calls may carry others as opaque bytes.
const (
	FlavorNone AuthFlavor = 0 // AUTH_NONE
	FlavorSys  AuthFlavor = 1 // AUTH_SYS, RFC 5531 appendix A
	FlavorGSS  AuthFlavor = 6 // RPCSEC_GSS, RFC 2203
	FlavorTLS  AuthFlavor = 7 // AUTH_TLS, RFC 9289
)

// MaxAuthBody is the maximum length in bytes of the body of a credential or verifier (RFC 5531
// section 8.2).
const MaxAuthBody = 400

// Auth is a credential or a verifier: opaque_auth of RFC 5531 section 8.2.
type Auth struct {
	Flavor AuthFlavor
	Body   []byte
}

func (a *Auth) encode(e *xdr.Encoder) {
	e.Uint32(uint32(a.Flavor))
	e.Opaque(a.Body, MaxAuthBody)
}

func (a *Auth) decode(d *xdr.Decoder) {
	a.Flavor = AuthFlavor(d.Uint32())
	a.Body = d.Opaque(MaxAuthBody)
}

// Limits of AUTH_SYS (RFC 5531 appendix A).
const (
	MaxMachineName = 255
	MaxGIDs        = 16
)

// SysCred is the body of an AUTH_SYS credential (RFC 5531 appendix A). It is a claim of the caller
// that nothing proves.
type SysCred struct {
	Stamp   uint32
	Machine string // at most MaxMachineName bytes
	UID     uint32
	GID     uint32
	GIDs    []uint32 // supplementary groups, at most MaxGIDs
}

// Auth encodes the credential. If a field is over its limit, the error wraps xdr.ErrLimit.
func (c *SysCred) Auth() (Auth, error) {
	var e xdr.Encoder
	e.Uint32(c.Stamp)
	e.String(c.Machine, MaxMachineName)
	e.Uint32(c.UID)
	e.Uint32(c.GID)
	if len(c.GIDs) > MaxGIDs {
		e.Fail(xdr.ErrLimit)
	}
	e.Uint32(uint32(len(c.GIDs)))
	for _, g := range c.GIDs {
		e.Uint32(g)
	}
	if e.Err() != nil {
		return Auth{}, e.Err()
	}
	return Auth{Flavor: FlavorSys, Body: e.Message().Inline}, nil
}

// Decode decodes c from the body of a credential, reusing c.GIDs. It checks the machine name but
// does not keep it, to save an allocation for each call. Nobody should rely on the name.
func (c *SysCred) Decode(body []byte) error {
	var d xdr.Decoder
	d.Reset(body, nil)
	c.Stamp = d.Uint32()
	c.Machine = ""
	d.Opaque(MaxMachineName)
	c.UID = d.Uint32()
	c.GID = d.Uint32()
	n := d.Count(MaxGIDs, 4)
	c.GIDs = c.GIDs[:0]
	for range n {
		c.GIDs = append(c.GIDs, d.Uint32())
	}
	return d.Finish()
}
