package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/sizeclass"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// DialFunc connects to a server. The context bounds the dialling only. It has the ClientAddr.
type DialFunc func(ctx context.Context) (oncrpc.Transport, error)

// Config configures a Gateway. Dial is required; the zero value of the rest is usable. New returns
// a *oncrpc.ConfigError if a value is out of range or contradicts another.
type Config struct {
	// Dial connects to the server, once for each client connection. If it fails, it is called again
	// after a pause.
	Dial DialFunc
	// Routes are other servers, by the number of the program whose calls they get.
	Routes map[uint32]Route
	// MaxReply is the largest data in bytes of a reply whose length the call does not bound. The
	// gateway adds 4 KiB for what surrounds the data. A READ, READDIR or READDIRPLUS of NFS version
	// 3 that asks for more gets no more. The value is from 4 KiB to 1 GiB less 4 KiB. 0 means 1
	// MiB, or what ConnMemory and Memory have room for if that is less.
	MaxReply int
	// ConnMemory and Memory bound the memory in bytes for replies of calls under way, for each
	// client connection and for all. Replies of up to 4 KiB do not count. 0 means 64 MiB and 512
	// MiB, or more if one call needs more. If only Memory is set, ConnMemory is not more than that.
	//
	// ConnMemory must have room for one call: MaxMessage, rounded up to a power of two. Memory must
	// be at least ConnMemory.
	ConnMemory, Memory int64
	// DialTimeout ends the context of each call of Dial. 0 means 10 s. It must not be negative.
	DialTimeout time.Duration
	// CallEnded, if set, is called when a call has ended. took is the time since it began to be
	// passed on, with all waiting. err says why there is no reply from the server; nil means that
	// there is one. CallEnded must not block.
	CallEnded func(program, version, procedure uint32, took time.Duration, err error)
	// Logger logs what goes wrong; nil means slog.Default().
	Logger *slog.Logger
}

// Route is a server for the calls of one program.
type Route struct {
	// Dial connects to it, once for each client connection that calls the program. It is required.
	Dial DialFunc
	// IfUnavailable sends calls to the main server until that answers PROG_UNAVAIL. From then on
	// they go to Dial, including the call that was so answered.
	IfUnavailable bool
}

// headroom is the room in bytes for what surrounds the data in a reply.
const headroom = 4 << 10

// maxReply is the largest MaxReply in bytes: with headroom it fills the largest buffer.
const maxReply = 1<<sizeclass.Largest - headroom

// withDefaults returns c with defaults filled in, or a *oncrpc.ConfigError.
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

// validate checks ranges, and that fields do not contradict each other.
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

// MaxMessage is the longest reply in bytes that the gateway may get. Set rpcrdma.Config.MaxMessage,
// or recordmark.Config.MaxRecord of a Dial over TCP, to this or more. c must be valid for New.
func (c Config) MaxMessage() int { return xdr.RoundUp(c.maxReply()) + headroom }

// maxReply is MaxReply or its default.
func (c Config) maxReply() int {
	if c.MaxReply != 0 {
		return c.MaxReply
	}
	n := 1 << 20
	for _, memory := range []int64{c.ConnMemory, c.Memory} {
		if memory > 0 { // buffers are powers of two
			n = min(n, 1<<(bits.Len64(uint64(memory))-1)-headroom)
		}
	}
	return max(n, headroom)
}
