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
