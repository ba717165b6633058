// Package raw is the yardstick for everything measured over a network: TCP without RPC. It sends a
// stream to the server, messages to and fro, or calls with payload.
//
//	err := raw.Serve(ctx, listener, 64)  // at most 64 connections
//	c, err := raw.Dial(ctx, addr, host.Sockets{}, payload)
//	rate, err := c.Stream(64<<10, time.Second)  // bytes a second, written 64 KiB at a time
//
// The client begins with a head of 16 bytes, big-endian:
//
//	2 bytes  0
//	2 bytes  echo only: window, the most messages that one read may bring; 0 means 1
//	2 bytes  echo only: batch, the answers sent with one write; 0 means 1
//	2 bytes  kind, as below
//	8 bytes  number: bytes of a stream, otherwise messages, requests or calls
//
// When all of that has been answered, the next head follows. The kinds are:
//
//	1  a stream of bytes; the server answers one byte when it has read all
//	2  an echo: the server returns each message of MessageSize bytes
//	3  requests of 64 bytes; the server answers each with the same BulkSize bytes
//	4  calls: see Transfer
package raw

import (
	"encoding/binary"
	"errors"
)

// MessageSize is the size in bytes of an echoed message.
const MessageSize = 128

// BulkSize is the size in bytes of the answer to a request.
const BulkSize = 1 << 20

// The kinds of what follows a head.
const (
	stream   = 1
	echo     = 2
	requests = 3
	calls    = 4
)

const (
	headSize  = 16
	maxWindow = 64 // messages
)

var (
	errHead = errors.New("raw: invalid head")
	errCall = errors.New("raw: invalid call")
)

// head announces what follows it.
type head struct {
	window, batch int // of an echo
	what          int
	n             uint64
}

// put encodes h.
func (h head) put(b []byte) {
	binary.BigEndian.PutUint16(b, 0)
	binary.BigEndian.PutUint16(b[2:], uint16(h.window))
	binary.BigEndian.PutUint16(b[4:], uint16(h.batch))
	binary.BigEndian.PutUint16(b[6:], uint16(h.what))
	binary.BigEndian.PutUint64(b[8:], h.n)
}

// parseHead decodes a head. An invalid one has what 0.
func parseHead(b []byte) head {
	h := head{
		window: max(1, int(binary.BigEndian.Uint16(b[2:]))),
		batch:  max(1, int(binary.BigEndian.Uint16(b[4:]))),
		what:   int(binary.BigEndian.Uint16(b[6:])),
		n:      binary.BigEndian.Uint64(b[8:]),
	}
	if b[0] != 0 || b[1] != 0 || h.window > maxWindow {
		h.what = 0 // no such kind
	}
	return h
}
