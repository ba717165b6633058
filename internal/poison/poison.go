// Package poison reveals the use of memory after it was given back. It works only if the
// environment variable RPCRDMADEBUG, a comma-separated list, contains the word poison:
//
//	RPCRDMADEBUG=poison go test ./...
//
// Pools then overwrite memory that comes back to them, and a server never reuses a Call. A handler
// that keeps memory too long reads 0xDB bytes, not old data or that of another call. This is slow,
// and meant for debugging.
package poison

import (
	"os"
	"slices"
	"strings"
)

// On reports whether memory is poisoned. Only tests set it, before anything else runs.
var On = slices.Contains(strings.Split(os.Getenv("RPCRDMADEBUG"), ","), "poison")

// Byte is the byte that overwrites memory.
const Byte = 0xDB

// Bytes overwrites p if On is set.
func Bytes(p []byte) {
	if !On || len(p) == 0 {
		return
	}
	p[0] = Byte
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n]) // the race detector checks each copy, not each byte
	}
}
