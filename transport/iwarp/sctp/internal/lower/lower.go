// Package lower is what DDP's sessions need of SCTP. Package sctp has it from pion/sctp over UDP,
// and a test from the sockets of the Linux kernel.
package lower

// Association is an SCTP association that is established. Its methods may be called concurrently,
// but for Receive.
type Association interface {
	// Streams is how many streams there are in each direction: their ids are below it.
	Streams() int

	// FirstTSN is the first TSN of the peer, if it is known.
	FirstTSN() uint32

	// MaxMessage is the most bytes of a message that goes without being fragmented, by what is
	// known of the path now.
	MaxMessage() int

	// Send queues a message, unordered. It does not wait, and p is the caller's again.
	Send(stream uint16, ppid uint32, p []byte) error

	// Unacknowledged is how many bytes of messages on a stream the peer has not acknowledged. What
	// Acknowledged was given is called after it has fallen below so many.
	Unacknowledged(stream uint16) int
	Acknowledged(stream uint16, below int, f func())

	// Receive reads the next message to p, whatever its stream. It fails when the association has
	// ended. What is too long for p is in memory of its own.
	Receive(p []byte) (Message, error)

	// Watch ends the association if the peer has gone. It returns when done is closed.
	Watch(done <-chan struct{})

	// Shutdown ends the association when all is acknowledged; Abort ends it now, and says why.
	Shutdown()
	Abort(reason string)
}

// Message is a message of the peer.
type Message struct {
	Stream    uint16
	PPID      uint32 // payload protocol identifier
	Unordered bool
	First     uint32 // TSNs of its first and last fragment
	Last      uint32
	Data      []byte
}
