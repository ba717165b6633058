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

// DefaultMaxRecord is the largest record accepted unless Config says otherwise: a
// WRITE of 4 MiB with room for what surrounds the data.
const DefaultMaxRecord = 4<<20 + 64<<10

// maxFragment is the largest fragment that a record mark can announce.
const maxFragment = 1<<31 - 1

// drainTime is how long a connection lasts that is not written to any more, for the sake
// of what its peer has still to receive or has sent already.
const drainTime = time.Second

// overcommit is how many times MaxInFlight the peer may have under way while reading
// goes on for the sake of this end's own calls.
const overcommit = 8

// maxInFlight is the largest MaxInFlight, so that overcommit times as many can be counted.
const maxInFlight = 1 << 20

// Config configures a connection. The zero value is usable, and in each field zero means the
// default. Dial, DialPrivileged, NewConn and Serve return a *oncrpc.ConfigError if a value is out
// of range or contradicts another.
type Config struct {
	// MaxRecord is the largest record accepted, in bytes, all its fragments together, 1 or more; 0
	// means DefaultMaxRecord, or what fits in Memory if that is less. A longer call is refused
	// before it is sent, with a *oncrpc.CallTooLongError. A peer that sends a longer record loses
	// the connection.
	MaxRecord int
	// EnforceMaxReply has this end's calls keep to the room that they make for their replies, as
	// over RDMA. It is meant for tests of programs that shall run over RDMA, too: there the
	// forgotten or wrong MaxReply of a call shows only when a reply is longer than the inline size.
	//
	// A call then fails with a *oncrpc.ReplyTooLongError, and the connection stays usable, if its
	// reply is longer than Exchange.MaxReply and the buffers in Exchange.Results together, each
	// rounded up to an XDR unit. A record does not tell where its bulk data is. So a reply whose
	// bulk data does not fill its buffers may be longer otherwise by what they have left, or have
	// more items of bulk data than there are buffers; over RDMA it may not. Conversely, a reply
	// that fits inline arrives over RDMA even where it fails here. Replies of up to 32 bytes, as
	// all are that carry an error and an empty verifier, never fail.
	//
	// A call that asks for more room than MaxRecord, without its buffers, is not sent and fails
	// with the same error.
	EnforceMaxReply bool
	// MaxFragment is the largest fragment sent, in bytes, 1 or more; 0 means what the protocol
	// allows, which is also the most: 2 GiB less a byte.
	MaxFragment int
	// MaxCalls is the number of calls that may be under way on a connection, 1 or more; 0 means 64.
	// Further ones wait.
	MaxCalls int
	// MaxInFlight is the number of the peer's calls that may be unanswered on a connection, from 1
	// to 1048576; 0 means 64. Further ones are not read.
	MaxInFlight int
	// Memory is the memory in bytes that the records of more than 64 KiB on all connections of one
	// Serve take, and the calls and replies of more than 4 KiB together that wait for their peers
	// to read, 1 or more; 0 means 512 MiB, or what one record of MaxRecord takes if that is more. A
	// peer host that has some gets more only while it then has no more than is left for others, at
	// most a half. A record that finds too little waits, and so does what is behind it on its
	// connection. Calls for whose replies there is no room are not read, beyond one of each
	// connection; until it is there a reply is expected to take 1 MiB.
	//
	// A record of MaxRecord must fit. It takes the next power of two and a 64th of that, or less;
	// or its own length, above 16 MiB.
	Memory int
	// RecordTimeout is how long the peer may take for each 64 KiB of a record, or what is left of
	// it, waiting for memory included; then the connection is closed. Between records it may be
	// silent as long as it likes. 0 means 30 s, less than 0 for ever.
	RecordTimeout time.Duration
	// CancelGrace is how long a call whose context has ended waits for its bytes to leave when they
	// have begun to; then the connection is closed. Likewise a peer with far too many calls under
	// way gets that long to take their answers. 0 means 5 s. It must not be negative.
	CancelGrace time.Duration
	// WriteTimeout is how long the peer may take to accept what was sent to it, in batches of about
	// 1 MiB; then the connection is closed. It is checked coarsely: half of it may do. 0 means a
	// minute, less than 0 for ever.
	WriteTimeout time.Duration
	// TLS, if set, has the peer start TLS where it asks for it (RFC 9289): on the connections of a
	// Serve, and others whose Conn serves calls. The protocol is TLS 1.3 with the application
	// protocol "sunrpc", whatever it says. Connections whose peers do not ask stay as they are: the
	// handler of a call can see that by Conn.TLS. ClientAuth and ClientCAs of the configuration say
	// which certificates of clients count; where ClientAuth is NoClientCert it is
	// VerifyClientCertIfGiven, as a server must ask for one. That TLS begins is logged.
	TLS *tls.Config
	// Wrap, if set, is given each connection that Dial and DialPrivileged make, and returns what is
	// used in its place: one that traces what passes, say. Serve has its net.Listener for that.
	Wrap func(net.Conn) net.Conn
	// Logger takes what peers do wrong; nil means slog.Default(). What goes wrong again and again
	// with one host is at level WARN once a minute, over all connections of a Serve, and otherwise
	// at DEBUG.
	Logger *slog.Logger
	// Counters, if set, counts for this connection and others that share it.
	Counters *Counters

	faults *faultlog.Log // writes to Logger; of all connections of one Serve
}

// withDefaults fills in what is not set. It fails with a *oncrpc.ConfigError.
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

// wrap returns what takes the place of a connection that was dialled.
func (c *Config) wrap(conn net.Conn) net.Conn {
	if c.Wrap == nil {
		return conn
	}
	return c.Wrap(conn)
}

// validate finds a field that is out of range, or that contradicts another.
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

// reservation is the most of Config.Memory that a record of up to n bytes takes.
func reservation(n int) int {
	if n <= growStep {
		return 0
	}
	return recordSize(n)
}

// largestRecord returns the length of the largest record of a class that takes no more of
// Config.Memory than that.
func largestRecord(memory int) int {
	for class := lastClass; classSize(class) > growStep; class-- {
		if n := classSize(class); n <= memory {
			return n
		}
	}
	return growStep
}
