package gss

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// version1 is RPCSEC_GSS_VERS_1 (RFC 2203 section 5).
const version1 = 1

// procedure is the kind of a call (rpc_gss_proc_t of RFC 2203 section 5).
type procedure uint32

const (
	procData         procedure = 0 // RPCSEC_GSS_DATA
	procInit         procedure = 1 // RPCSEC_GSS_INIT
	procContinueInit procedure = 2 // RPCSEC_GSS_CONTINUE_INIT
	procDestroy      procedure = 3 // RPCSEC_GSS_DESTROY
)

// creates reports whether the call creates a context.
func (p procedure) creates() bool { return p == procInit || p == procContinueInit }

// maxSeq is MAXSEQ, the first sequence number that is too large (RFC 2203 section 5).
const maxSeq = 0x80000000

const (
	// maxHandle is the length in bytes of the longest handle that fits in a credential.
	maxHandle = oncrpc.MaxAuthBody - 5*4
	// maxToken is the length in bytes of the longest token accepted from an unauthenticated peer.
	// Kerberos tokens have at most 64 KiB (MS-KILE: MaxTokenSize).
	maxToken = 64 << 10
	// maxChecksum is the length in bytes of the longest checksum of a body.
	maxChecksum = 4 << 10
	// maxBody is the length in bytes of the longest body. The transport has a lower limit.
	maxBody = math.MaxInt32
)

// credential is rpc_gss_cred_t (RFC 2203 section 5).
type credential struct {
	version   uint32
	procedure procedure
	seq       uint32
	service   Service
	handle    []byte
}

// encode appends the flavour and body of the credential.
func (c *credential) encode(e *xdr.Encoder) {
	e.Uint32(uint32(oncrpc.FlavorGSS))
	e.Uint32(uint32(5*4 + xdr.RoundUp(len(c.handle))))
	e.Uint32(c.version)
	e.Uint32(uint32(c.procedure))
	e.Uint32(c.seq)
	e.Uint32(uint32(c.service))
	e.Opaque(c.handle, maxHandle)
}

// decode decodes the body of a credential; the handle refers to it. If the rest is malformed or of
// another version, version and procedure are still valid.
func (c *credential) decode(body []byte) error {
	var d xdr.Decoder
	d.Reset(body, nil)
	c.version = d.Uint32()
	c.procedure = procedure(d.Uint32())
	c.seq = d.Uint32()
	c.service = Service(d.Uint32())
	c.handle = d.Opaque(maxHandle)
	return d.Finish()
}
