// Package raw is TCP without RPC, the yardstick of package bench: a stream to the server, and messages to and fro.
//
// What the client sends begins with a head: a word that says what follows, and how much of it, each of 8 bytes, big-endian. A stream is bytes, and
// the server answers them with one when it has read all. An echo is messages of MessageSize bytes, each of which the server sends back.
package raw

import (
	"encoding/binary"
	"errors"
)

// MessageSize is the size in bytes of a message that is echoed.
const MessageSize = 128

// What follows on a head.
const (
	stream = 1
	echo   = 2
)

const headSize = 16

var errHead = errors.New("raw: a head that makes no sense")

// putHead encodes a head.
func putHead(b []byte, what, n uint64) {
	binary.BigEndian.PutUint64(b, what)
	binary.BigEndian.PutUint64(b[8:], n)
}

// parseHead decodes one.
func parseHead(b []byte) (what, n uint64) {
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
}
