package recordmark

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DefaultMaxRecord is the default of Config.MaxRecord in bytes. It has room for a WRITE of 4 MiB.
const DefaultMaxRecord = 4<<20 + 64<<10

// maxFragment is the length in bytes of the longest fragment that a record mark can announce.
const maxFragment = 1<<31 - 1

// drainTime is how long a connection that is not written any more stays open, so that the peer
// receives the last replies and this end the peer's.
const drainTime = time.Second

// overcommit times MaxInFlight is the limit on the peer's unanswered calls while this end must keep
// reading for the sake of its own calls.
const overcommit = 8

// maxInFlight is the largest MaxInFlight. It keeps overcommit times as many within an int.
const maxInFlight = 1 << 20

// Config configures a connection. The zero value is usable: zero in a field means the default.
// Dial, DialPrivileged, NewConn and Serve return a *oncrpc.ConfigError if a value is out of range
// or contradicts another.
type Config struct {
	// MaxRecord is the maximum length in bytes of a record, the sum of its fragments, 1 or more. 0
	// means DefaultMaxRecord, or what fits in Memory if that is less. A longer call is not sent,
	// and fails with a *oncrpc.CallTooLongError. A peer that sends a longer record loses the
	// connection.
	MaxRecord int
	// EnforceMaxReply makes calls of this end fail if their reply is longer than the room that they
	// ask for, as over RDMA. Use it to test programs that will run over RDMA: there, a missing or
	// wrong MaxReply shows only when a reply is longer than the inline size.
	//
	// The limit on a reply is Exchange.MaxReply and the buffers in Exchange.Results, each rounded
	// up to an XDR unit. A call that exceeds it fails with a *oncrpc.ReplyTooLongError, and the
	// connection stays usable. The check differs from RDMA:
	//
	//  - A record does not show where its bulk data is. So other data may use the room that bulk
	//    data leaves in its buffers, and there may be more bulk items than buffers.
	//  - Over RDMA, a reply that fits inline always arrives.
	//
	// Replies of up to 32 bytes never fail. That covers all errors with an empty verifier. A call
	// that asks for more room than MaxRecord, not counting its buffers, is not sent and fails with
	// the same error.
	EnforceMaxReply bool
	// MaxFragment is the maximum length in bytes of a fragment to send, 1 or more; 0 means the
	// maximum of the protocol, 2 GiB less a byte.
	MaxFragment int
	// MaxCalls is the limit on pending calls of this end on a connection, 1 or more; 0 means 64.
	// Further calls wait.
	MaxCalls int
	// MaxInFlight is the number of the peer's calls that may be unanswered on a connection, from 1
	// to 1048576; 0 means 64. Further calls are not read.
	MaxInFlight int
	// Memory is the memory in bytes for large messages on all connections of one Serve, 1 or more;
	// 0 means 512 MiB, or what a record of MaxRecord takes if that is more. It holds records longer
	// than 64 KiB, and calls with their unsent replies if they take more than 4 KiB together. A
	// peer host that has some gets more only if it then has no more than what remains free, so at
	// most half. A record that finds too little memory waits, and so do later records on its
	// connection. Calls whose replies find no memory are not read, except one on each connection. A
	// reply counts as 1 MiB until it exists.
	//
	// A record of MaxRecord must fit. Up to 16 MiB, it takes at most the next power of two and a
	// 64th of that; above, its own length.
	Memory int
	// RecordTimeout is how long the peer may take to send each 64 KiB of a record, or the rest of
	// it. The time includes waiting for memory. Then the connection is closed. Between records the
	// peer may stay silent. 0 means 30 s, and a negative value no limit.
	RecordTimeout time.Duration
	// CancelGrace is how long a call whose context has ended waits for its message to leave, if
	// part of it has left already. Then the connection is closed. It is also how long a peer with
	// far too many unanswered calls has to accept answers. 0 means 5 s. It must not be negative.
	CancelGrace time.Duration
	// WriteTimeout is how long the peer may take to accept what is sent, in batches of about 1 MiB.
	// Then the connection is closed. The check is coarse: half the time may suffice. 0 means a
	// minute, and a negative value no limit.
	WriteTimeout time.Duration
	// TLS, if set, lets the peer start TLS (RFC 9289) on connections of Serve and on others whose
	// Conn serves calls. Connections whose peers do not ask for TLS stay without it; a handler can
	// check with Conn.TLS. ClientAuth and ClientCAs say which client certificates are accepted.
	// NoClientCert becomes VerifyClientCertIfGiven, because a server must ask for a certificate.
	// The protocol is always TLS 1.3 with the application protocol "sunrpc". The start of TLS is
	// logged. The handshakes of one Serve take turns, shared among hosts. One that takes more than
	// ten seconds or 64 KiB ends the connection.
	TLS *tls.Config
	// Wrap, if set, gets each connection that Dial and DialPrivileged make, and returns the
	// connection to use in its place, for example to trace it. For Serve, wrap the net.Listener.
	Wrap func(net.Conn) net.Conn
	// Logger logs faults of peers; nil means slog.Default(). For each host, a repeated fault is
	// logged at level WARN once a minute, over all connections of a Serve, and otherwise at DEBUG.
	Logger *slog.Logger
	// Counters, if set, counts for this connection and all others that share it.
	Counters *Counters

	faults *faultlog.Log // writes to Logger; shared by the connections of one Serve
}

// withDefaults returns c with defaults in fields that are not set, or a *oncrpc.ConfigError.
func (c Config) withDefaults() (Config, error) {
	if c.MaxRecord == 0 {
		c.MaxRecord = DefaultMaxRecord
		if c.Memory > 0 {
			c.MaxRecord = min(DefaultMaxRecord, largestRecord(c.Memory))
		}
	}
	c.MaxFragment = cmp.Or(c.MaxFragment, maxFragment)
	c.MaxCalls = cmp.Or(c.MaxCalls, 64)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 64)
	c.Memory = cmp.Or(c.Memory, max(512<<20, reservation(c.MaxRecord)))
	c.RecordTimeout = cmp.Or(c.RecordTimeout, 30*time.Second)
	c.CancelGrace = cmp.Or(c.CancelGrace, 5*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, time.Minute)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.faults == nil {
		c.faults = faultlog.New(c.Logger)
	}
	if c.Counters == nil {
		c.Counters = new(Counters)
	}
	return c, c.validate()
}

// wrap applies Config.Wrap to a dialled connection.
func (c *Config) wrap(conn net.Conn) net.Conn {
	if c.Wrap == nil {
		return conn
	}
	return c.Wrap(conn)
}

// validate returns a *oncrpc.ConfigError if a field is out of range or contradicts another.
func (c *Config) validate() error {
	wrong := func(field string, value any, want string, args ...any) error {
		return &oncrpc.ConfigError{
			Config: "recordmark.Config", Field: field, Value: value, Want: fmt.Sprintf(want, args...),
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"MaxRecord", c.MaxRecord},
		{"MaxCalls", c.MaxCalls},
		{"Memory", c.Memory},
	} {
		if f.value < 1 {
			return wrong(f.name, f.value, "1 or more, or 0 for the default")
		}
	}
	least := reservation(c.MaxRecord)
	switch {
	case c.MaxFragment < 1 || c.MaxFragment > maxFragment:
		return wrong("MaxFragment", c.MaxFragment, "from 1 to %d, or 0 for the default", maxFragment)
	case c.MaxInFlight < 1 || c.MaxInFlight > maxInFlight:
		return wrong("MaxInFlight", c.MaxInFlight, "from 1 to %d, or 0 for the default", maxInFlight)
	case c.Memory < least:
		return wrong("Memory", c.Memory, "at least %d, for a MaxRecord of %d", least, c.MaxRecord)
	case c.CancelGrace < 0:
		return wrong("CancelGrace", c.CancelGrace, "above 0, or 0 for the default")
	}
	return nil
}

// reservation returns the maximum of Config.Memory that a record of up to n bytes takes.
func reservation(n int) int {
	if n <= growStep {
		return 0
	}
	return recordSize(n)
}

// largestRecord returns the length of the longest pooled record that takes at most memory bytes of
// Config.Memory.
func largestRecord(memory int) int {
	for class := lastClass; classSize(class) > growStep; class-- {
		if n := classSize(class); n <= memory {
			return n
		}
	}
	return growStep
}
