// Package program is the RPC program that package bench measures: one procedure takes a payload,
// one gives one. Which way the payload travels is up to the client and its configuration.
//
// TAKE puts what it takes where the data of a server belongs: in memory of its own, at the
// beginning of a page. What has not come yet is fetched to there; what has come within a message is
// copied, unless it lies at the beginning of a page already, as padding has it, and can be used
// there. GIVE refers to memory that has been written to, always the same. Neither looks at the
// bytes, and neither allocates memory in the steady state.
package program

import "github.com/rpcrdma/go-rpcrdma/xdr"

// The program. Its number is of the range that RFC 5531 leaves to users.
const (
	Number  = 0x20716230
	Version = 1
)

// The procedures.
const (
	Null = 0
	Take = 1 // opaque<MaxPayload> -> unsigned: its length
	Give = 2 // unsigned: a length -> opaque<MaxPayload>
)

const (
	// MaxPayload is the largest payload in bytes.
	MaxPayload = 4 << 20
	// MaxMessage is room for a message with it.
	MaxMessage = MaxPayload + 64<<10
	// Page is what the server wants its data aligned to, in bytes.
	Page = 4096
)

// lengthSize is that of the length in front of a payload, or of a result that is one.
const lengthSize = xdr.Unit
