// Package poison makes it visible that memory is used when it has been given back. It does so where
// the environment variable RPCRDMADEBUG, words with commas between them, has the word poison:
//
//	RPCRDMADEBUG=poison go test ./...
//
// Then memory is overwritten when it goes back to a pool, and a server uses no Call twice. Whoever
// keeps what a handler was lent reads 0xDB bytes, rather than what by luck is still there, or is
// another call's. It is slow, and for debugging.
package poison

import (
	"os"
	"slices"
	"strings"
)

// On reports whether memory is to be poisoned. Only tests set it, before anything else runs.
var On = slices.Contains(strings.Split(os.Getenv("RPCRDMADEBUG"), ","), "poison")

// Byte is what memory is overwritten with.
const Byte = 0xDB

// Bytes overwrites p, if memory is to be poisoned.
func Bytes(p []byte) {
	if !On {
		return
	}
	for i := range p {
		p[i] = Byte
	}
}
