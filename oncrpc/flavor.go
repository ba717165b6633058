package oncrpc

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ClientFlavor authenticates the calls of a Client. [AuthNone], [AuthSys] and [FixedCred] return
// simple ones. Several clients may share one. Its methods must be safe for concurrent use.
type ClientFlavor interface {
	// Flavor returns the number of the flavour.
	Flavor() AuthFlavor

	// Ready is called before each call of c. It is called again before a call is retried that was
	// denied, or that Seal refused with ErrNotReady. It may block and make calls. A flavour that
	// must set something up with the server first does so here, with its own client over
	// c.Transport; RPCSEC_GSS creates its context (RFC 2203 section 5.2). If Ready fails, the call
	// is not sent and fails with that error.
	Ready(ctx context.Context, c *Client) error

	// Seal appends the credential, the verifier and the arguments to e, which contains the call's
	// header from the transaction id to the procedure. It is called shortly before each
	// transmission: a call that is sent again has the same transaction id and arguments, but may
	// need another verifier (RFC 2203 section 5.3.3.1). It must not block, and does not hold up
	// other calls. It must not change args, and may append them with Encoder.Append.
	//
	// If its error wraps ErrNotReady, the transmission ends without having been sent. The Client
	// then calls Ready, and sends the call once more, with the same transaction id if it had been
	// sent before. Any other error is that of the call.
	//
	// The ReplyCheck checks the reply; nil means no check.
	Seal(e *xdr.Encoder, args *xdr.Message) (ReplyCheck, error)

	// Slack is the maximum number of bytes that the server's flavour adds to a reply: the body of
	// its verifier, rounded up to a multiple of four, and the growth of the results, length words
	// and round-up included. If it is too small, replies as long as MaxReply fail.
	Slack() int

	// AllowsPlacement reports whether bulk data may travel separately from the message, by RDMA
	// Read and Write. It is false if data is encrypted or under a checksum (RFC 8166 section
	// 8.2.2.3). Seal then appends all data as bytes of the message, with args.Pieces(e.Raw), and
	// Request.Results are not offered to the server, so that results come with the reply.
	AllowsPlacement() bool
}

// ReplyCheck checks the reply to one transmission of a call. The Client calls none of its methods
// if no reply arrives; otherwise it calls one or two, one after the other.
type ReplyCheck interface {
	// Verify checks the verifier of a reply that accepts the call, whatever the outcome. Its error
	// fails the call and wraps ErrMalformedReply. The server makes the verifier before it knows the
	// outcome, so the verifier does not protect the outcome.
	Verify(verf *Auth) error
	// Open checks or decrypts the results of a successful call. The decoder is at their beginning.
	// Open may reset it to decrypted data, which may lie in the same memory. Its error fails the
	// call and wraps ErrMalformedReply.
	Open(results *xdr.Decoder) error
	// RetryDenied is called if the server denied the call. It reports whether to try again, after
	// another ClientFlavor.Ready. A second denial is final.
	RetryDenied(err *AuthError) bool
}

// CallTracker is an optional interface of a ClientFlavor. With it, a flavour can limit the pending
// calls in Ready, and reuse the memory of its checks.
type CallTracker interface {
	// Over is called when the check of a transmission is no longer used: before the call is sealed
	// again, or when it has ended.
	Over(ReplyCheck)
	// Ended is called once for each Ready that returned nil: when the call has ended, sealed or
	// not, or before Ready is called for a retry.
	Ended()
}

// fixedCred is a flavour that adds the same bytes to every call. The Client adds them itself,
// without Seal.
type fixedCred struct {
	flavor AuthFlavor
	sealed []byte // credential, then the verifier of AUTH_NONE
}

var authNone = must(FixedCred(Auth{}))

func must(f ClientFlavor, err error) ClientFlavor {
	if err != nil {
		panic(err)
	}
	return f
}

// AuthNone returns the flavour AUTH_NONE, which says nothing about the caller (RFC 5531 section
// 10.1).
func AuthNone() ClientFlavor { return authNone }

// AuthSys returns the flavour AUTH_SYS, which claims to be c (RFC 5531 appendix A). If a field is
// over its limit, the error wraps xdr.ErrLimit.
func AuthSys(c SysCred) (ClientFlavor, error) {
	a, err := c.Auth()
	if err != nil {
		return nil, err
	}
	return FixedCred(a)
}

// FixedCred returns a flavour that presents cred, uninterpreted, with the verifier of AUTH_NONE. If
// its body is longer than MaxAuthBody bytes, the error wraps xdr.ErrLimit.
func FixedCred(cred Auth) (ClientFlavor, error) {
	var e xdr.Encoder
	cred.encode(&e)
	new(Auth).encode(&e)
	if e.Err() != nil {
		return nil, e.Err()
	}
	return &fixedCred{cred.Flavor, e.Message().Inline}, nil
}

func (f *fixedCred) Flavor() AuthFlavor { return f.flavor }

func (f *fixedCred) Ready(context.Context, *Client) error { return nil }

func (f *fixedCred) Seal(e *xdr.Encoder, args *xdr.Message) (ReplyCheck, error) {
	e.Raw(f.sealed)
	e.Append(args)
	return nil, nil
}

func (f *fixedCred) Slack() int            { return 0 }
func (f *fixedCred) AllowsPlacement() bool { return true }
