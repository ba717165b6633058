// Package lower defines what DDP sessions need from SCTP: an [Association] that sends and receives
// messages. Package sctp implements it with pion/sctp over UDP. Tests implement it with the SCTP of
// the Linux kernel.
package lower

// Association is an established SCTP association. Its methods may be called concurrently, except
// for Receive.
type Association interface {
	// Streams returns the number of streams in each direction. Stream ids are below it.
	Streams() int

	// FirstTSN returns the first TSN of the peer, if known.
	FirstTSN() uint32

	// MaxMessage returns the maximum length in bytes of a message that is not fragmented, by what
	// is known of the path now.
	MaxMessage() int

	// Send queues a message, unordered. It does not wait, and does not keep p.
	Send(stream uint16, ppid uint32, p []byte) error

	// Unacknowledged returns how many bytes of messages on a stream the peer has not acknowledged.
	// Acknowledged arranges for one call of f when that number falls below the given one.
	Unacknowledged(stream uint16) int
	Acknowledged(stream uint16, below int, f func())

	// Receive reads the next message of any stream into p, or into new memory if p is too small. It
	// fails when the association has ended.
	Receive(p []byte) (Message, error)

	// Watch ends the association if the peer has gone. It returns when the association has ended,
	// or done is closed.
	Watch(done <-chan struct{})

	// Shutdown ends the association when everything is acknowledged. Abort ends it now, and tells
	// the peer why.
	Shutdown()
	Abort(reason string)
}

// Message is a message from the peer.
type Message struct {
	Stream    uint16
	PPID      uint32 // payload protocol identifier
	Unordered bool
	First     uint32 // TSNs of its first and last fragment
	Last      uint32
	Data      []byte

	// Reserved is how many bytes of sctp.Config.Memory are reserved for the message. Receive hands
	// them on with it.
	Reserved int
}
