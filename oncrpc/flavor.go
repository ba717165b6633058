package oncrpc

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// ClientFlavor authenticates the calls of a Client. [AuthNone], [AuthSys] and [FixedCred] return
// such. Several clients may share one; its methods are called concurrently.
type ClientFlavor interface {
	// Flavor returns the number of the flavour.
	Flavor() AuthFlavor

	// Ready is called before each call of c, and before it is made once more because it was
	// denied. It may block, and call: a flavour that has to set something up with the server, as
	// RPCSEC_GSS a context (RFC 2203 section 5.2), does so here, with a client of its own over
	// c.Transport. Its error is that of the call, which is not made.
	Ready(ctx context.Context, c *Client) error

	// Seal appends credential, verifier and arguments to e, behind the header of the call from
	// transaction id to procedure, which is all that e holds. It is called for each transmission,
	// soon before it and not holding up others: a call that is sent again has the same transaction
	// id and arguments, and may need another verifier (RFC 2203 section 5.3.3.1). It must not
	// block. The arguments stay as they are, and so may be appended by Encoder.Append.
	//
	// The ReplyCheck looks at the reply; nil looks at nothing.
	Seal(e *xdr.Encoder, args *xdr.Message) (ReplyCheck, error)

	// Slack is the most bytes that the server's side of the flavour adds to a reply: the body of
	// its verifier, rounded up to four, and what results grow by, with length words and round-up.
	// One that is too small shows where a reply is as long as MaxReply says.
	Slack() int

	// AllowsPlacement reports whether bulk data may travel beside the message, by RDMA Read and
	// Write. If not, as it is below a checksum or encrypted (RFC 8166 section 8.2.2.3), Seal
	// appends all data as bytes of the message, args.Pieces(e.Raw), and Request.Results are not
	// offered to the server: results come with the reply.
	AllowsPlacement() bool
}

// ReplyCheck looks at the reply to one transmission of a call. The Client calls one or two of its
// methods, one after the other, or none if no reply came.
type ReplyCheck interface {
	// Verify checks the verifier of a reply that says that the call was accepted, whatever its
	// outcome. Its error ends the call, as one that wraps ErrMalformedReply. The server makes the
	// verifier before the call has an outcome, so it does not protect that.
	Verify(verf *Auth) error
	// Open checks, or decrypts, the results of a successful call. The decoder is at their
	// beginning; Open may have it decode something else (Decoder.Reset), also what it has
	// decrypted in place. Its error ends the call, as one that wraps ErrMalformedReply.
	Open(results *xdr.Decoder) error
	// RetryDenied is told that the server has denied the call. It reports whether the call shall be
	// made once more, by a ClientFlavor that is made Ready again. The second denial is final.
	RetryDenied(err *AuthError) bool
}

// CallTracker is an optional ability of a ClientFlavor: it bounds the calls under way, in Ready,
// and uses the memory of its checks again.
type CallTracker interface {
	// Over is told that the check of a transmission is used no more: before the call is sealed once
	// more, or when it has ended.
	Over(ReplyCheck)
	// Ended is called once for each Ready that has returned nil: when the call has ended, with or
	// without having been sealed, or before Ready is called for it once more.
	Ended()
}

// fixedCred is a flavour whose calls all have the same credential, and nothing that depends on the
// transmission. The Client puts it into each call without asking.
type fixedCred struct {
	flavor AuthFlavor
	sealed []byte // credential, and the verifier of AUTH_NONE
}

var authNone = must(FixedCred(Auth{}))

func must(f ClientFlavor, err error) ClientFlavor {
	if err != nil {
		panic(err)
	}
	return f
}

// AuthNone returns the flavour that says nothing about the caller (RFC 5531 section 10.1).
func AuthNone() ClientFlavor { return authNone }

// AuthSys returns the flavour that claims to be c (RFC 5531 appendix A). A field over its limit is
// an error that wraps xdr.ErrLimit.
func AuthSys(c SysCred) (ClientFlavor, error) {
	a, err := c.Auth()
	if err != nil {
		return nil, err
	}
	return FixedCred(a)
}

// FixedCred returns a flavour that presents cred with each call, whatever that means, and the
// verifier of AUTH_NONE. A body of more than MaxAuthBody bytes is an error that wraps
// xdr.ErrLimit.
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
