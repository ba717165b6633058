package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// DialFunc connects to a server. The context bounds the dialling only.
type DialFunc func(ctx context.Context) (oncrpc.Transport, error)

// Config configures a Gateway. Dial is needed; the zero value of the rest is usable. New returns a
// *oncrpc.ConfigError if a value is out of range or contradicts another.
type Config struct {
	// Dial connects to the server, for each connection of a client. It is called again, after a
	// pause, when it fails.
	Dial DialFunc
	// Routes are the programs, by number, whose calls go elsewhere.
	Routes map[uint32]Route
	// MaxReply is the longest reply in bytes that there is room for when the call does not say how
	// long it may be, some 4 KiB for what surrounds the data aside. It is also the most that a
	// READ, READDIR or READDIRPLUS of NFS version 3 may ask for. It is from 4 KiB to 1 GiB less 4
	// KiB; 0 means 1 MiB, or what ConnMemory and Memory have room for if that is less.
	MaxReply int
	// ConnMemory bounds the memory in bytes for the replies of the calls under way on one
	// connection, and Memory that on all of them. Replies of up to 4 KiB are not counted. 0 means
	// 64 MiB and 512 MiB, or what one call takes if that is more; ConnMemory is Memory, if only
	// that is set, and less.
	//
	// ConnMemory is at least what one call takes: MaxMessage, rounded up to a power of two. Memory
	// is at least ConnMemory.
	ConnMemory, Memory int64
	// DialTimeout is how long one attempt to connect may take: the context of Dial ends then, and
	// there is another. 0 means 10 s. It must not be negative.
	DialTimeout time.Duration
	// CallEnded, if set, is told of each call that has ended: of which procedure it was, how long
	// it took, waiting included, and why there is no reply of the server's. It must not block.
	CallEnded func(program, version, procedure uint32, took time.Duration, err error)
	// Logger takes what goes wrong; nil means slog.Default().
	Logger *slog.Logger
}

// Route says where calls go that do not go to the server.
type Route struct {
	// Dial connects there, once for each connection of a client that calls the program. It is
	// needed.
	Dial DialFunc
	// IfUnavailable has calls go to the server nonetheless, until it answers PROG_UNAVAIL: from
	// then on they go to Dial, the one so answered first.
	IfUnavailable bool
}

// headroom is what surrounds the data in a reply of unknown structure, in bytes.
const headroom = 4 << 10

// maxReply is the largest MaxReply in bytes: with headroom it fills the largest buffer.
const maxReply = 1<<maxClass - headroom

// withDefaults fills in what is not set. It fails with a *oncrpc.ConfigError.
func (c Config) withDefaults() (Config, error) {
	c.MaxReply = c.maxReply()
	most := cost(c.MaxMessage())
	if c.ConnMemory == 0 {
		c.ConnMemory = 64 << 20
		if c.Memory != 0 {
			c.ConnMemory = min(c.ConnMemory, c.Memory)
		}
		c.ConnMemory = max(c.ConnMemory, most)
	}
	c.Memory = cmp.Or(c.Memory, max(512<<20, c.ConnMemory))
	c.DialTimeout = cmp.Or(c.DialTimeout, 10*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, c.validate()
}

// validate finds a field that is out of range, or that contradicts another.
func (c *Config) validate() error {
	wrong := func(field string, value any, want string, args ...any) error {
		return &oncrpc.ConfigError{
			Config: "gateway.Config", Field: field, Value: value, Want: fmt.Sprintf(want, args...),
		}
	}
	if c.Dial == nil {
		return wrong("Dial", nil, "a function")
	}
	for program, r := range c.Routes {
		if r.Dial == nil {
			return wrong(fmt.Sprintf("Routes[%d].Dial", program), nil, "a function")
		}
	}
	if c.MaxReply < headroom || c.MaxReply > maxReply {
		return wrong("MaxReply", c.MaxReply, "from %d to %d, or 0 for the default", headroom, maxReply)
	}
	most := cost(c.MaxMessage())
	switch {
	case c.ConnMemory < most:
		return wrong("ConnMemory", c.ConnMemory, "at least %d, for a MaxReply of %d", most, c.MaxReply)
	case c.Memory < most:
		return wrong("Memory", c.Memory, "at least %d, for a MaxReply of %d", most, c.MaxReply)
	case c.Memory < c.ConnMemory:
		return wrong("Memory", c.Memory, "at least ConnMemory, %d", c.ConnMemory)
	case c.DialTimeout < 0:
		return wrong("DialTimeout", c.DialTimeout, "above 0, or 0 for the default")
	}
	return nil
}

// MaxMessage is the longest reply in bytes that the transports must take: that is the least for
// rpcrdma.Config.MaxMessage, and for recordmark.Config.MaxRecord of a Dial over TCP. It means
// nothing for a Config that New does not take.
func (c Config) MaxMessage() int { return xdr.RoundUp(c.maxReply()) + headroom }

// maxReply is MaxReply or its default.
func (c Config) maxReply() int {
	if c.MaxReply != 0 {
		return c.MaxReply
	}
	n := 1 << 20
	for _, memory := range []int64{c.ConnMemory, c.Memory} {
		if memory > 0 { // a power of two of it is for a message
			n = min(n, 1<<(bits.Len64(uint64(memory))-1)-headroom)
		}
	}
	return max(n, headroom)
}
