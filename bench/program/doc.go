// Package program is the RPC program that package bench measures. One procedure takes a payload,
// the other returns one. The client's configuration decides how the payload travels.
//
//	err := server.Handle(program.New())            // an *oncrpc.Server
//	c := program.NewTakeCaller(transport, payload) // an oncrpc.Transport
//	err = c.Call(ctx)
//
// TAKE puts its payload in the server's own memory, at the beginning of a page. It fetches a chunk
// to there. It copies inline data, unless padding has already placed it at the beginning of a page.
// GIVE returns the same memory each time. Neither looks at the bytes, and neither allocates memory
// once it has warmed up.
package program

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Number is from the range that RFC 5531 section 8.3 leaves to users.
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
	// MaxMessage is the largest message with such a payload.
	MaxMessage = MaxPayload + 64<<10
	// Page is the alignment of the server's memory, in bytes.
	Page = 4096
)

// lengthSize is the size of a length word in bytes.
const lengthSize = xdr.Unit
