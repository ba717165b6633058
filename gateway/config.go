package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Dial connects to a server. The context bounds the dialling only.
type Dial func(ctx context.Context) (oncrpc.Transport, error)

// Config configures a Gateway. Dial is needed; the zero value of the rest is usable.
type Config struct {
	// Dial connects to the server, once for each connection of a client.
	Dial Dial
	// Routes are the programs, by number, whose calls go elsewhere.
	Routes map[uint32]Route
	// MaxReply is the longest reply in bytes that there is room for when the call does not say how long it may be, some 4 KiB for what surrounds
	// the data aside. It is also the most that a READ, READDIR or READDIRPLUS of NFS version 3 may ask for. 0 means 1 MiB; it is from 4 KiB to 1 GiB less 4 KiB.
	MaxReply int
	// ConnMemory bounds the memory in bytes for the replies of the calls under way on one connection, Memory that on all
	// of them; replies of up to 4 KiB are not counted. 0 means 64 MiB and 512 MiB; they are never less than what one call takes.
	ConnMemory, Memory int64
	// DialTimeout is how long Dial may take; 0 means 10 s.
	DialTimeout time.Duration
	// Logger takes what goes wrong; nil means slog.Default().
	Logger *slog.Logger
}

// Route says where calls go that do not go to the server.
type Route struct {
	// Dial connects there, once for each connection of a client that calls the program.
	Dial Dial
	// IfUnavailable has calls go to the server nonetheless, until it answers PROG_UNAVAIL: from then on they go to
	// Dial, the one so answered first.
	IfUnavailable bool
}

// headroom is what surrounds the data in a reply of unknown structure, in bytes.
const headroom = 4 << 10

func (c Config) withDefaults() Config {
	c.MaxReply = c.maxReply()
	most := cost(c.MaxMessage())
	c.ConnMemory = max(cmp.Or(c.ConnMemory, 64<<20), most)
	c.Memory = max(cmp.Or(c.Memory, 512<<20), c.ConnMemory)
	c.DialTimeout = cmp.Or(c.DialTimeout, 10*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// MaxMessage is the longest reply in bytes that the transports must take: rpcrdma.Config.MaxMessage, and recordmark.Config.MaxRecord of
// a Dial over TCP, may not be less.
func (c Config) MaxMessage() int { return xdr.RoundUp(c.maxReply()) + headroom }

func (c Config) maxReply() int {
	return min(max(headroom, cmp.Or(c.MaxReply, 1<<20)), 1<<maxClass-headroom)
}
