package bench

import (
	"log/slog"
	"math"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// The listeners of a server, named after what they serve.
const (
	chunkedListener = "chunked"
	inlineListener  = "inline"
	draftListener   = "draft"
)

var rdmaNames = []string{chunkedListener, inlineListener, draftListener}

// listenerOf returns the listener for a way.
func listenerOf(w Way) string {
	switch w {
	case Padded:
		return draftListener
	case InlineCall, InlineReply:
		return inlineListener
	}
	return chunkedListener
}

// messageMemory returns how many bytes messages may take, given the memory for the payloads of a
// grid. There is always room for a call and its reply.
func messageMemory(memory int64) int64 { return max(memory, 2*program.MaxMessage) }

// config returns a client configuration with which calls travel in the way of the point.
func (p Point) config(o Options, m *meter) rpcrdma.Config {
	cfg := rpcrdma.Config{
		Logger:       o.Logger,
		Credits:      max(64, p.InFlight),
		MaxMessage:   program.MaxMessage,
		ConnMemory:   messageMemory(o.Memory),
		ServerMemory: messageMemory(o.Memory),
		Observer:     m,
	}
	switch p.Way {
	case InlineCall, InlineReply:
		cfg.InlineSend, cfg.InlineRecv = rpcrdma.MaxInline, rpcrdma.MaxInline
	case Padded:
		cfg.InlineSend, cfg.InlineRecv = rpcrdma.MaxInline, rpcrdma.MaxInline
		cfg.Dialect, cfg.PeerAlign, cfg.MinChunk = rpcrdma.Draft, program.Page, 1
	case ReadChunk, WriteChunk:
		cfg.ChunkFrom = 1
	case LongCall:
		cfg.InlineSend, cfg.MinChunk = rpcrdma.DefaultInline, math.MaxInt32
	case ReplyChunk:
		cfg.InlineRecv = rpcrdma.DefaultInline
	}
	return cfg
}

// serverConfig returns a server's configuration for one of its RDMA listeners.
func serverConfig(listener string, memory int64, log *slog.Logger) rpcrdma.Config {
	cfg := rpcrdma.Config{
		Logger:       log,
		Credits:      MaxInFlight,
		MaxMessage:   program.MaxMessage,
		ConnMemory:   messageMemory(memory),
		ServerMemory: 2 * messageMemory(memory), // one host alone gets half
	}
	switch listener {
	case draftListener:
		cfg.Dialect, cfg.Align = rpcrdma.Draft, program.Page
		fallthrough
	case inlineListener:
		cfg.InlineSend, cfg.InlineRecv = rpcrdma.MaxInline, rpcrdma.MaxInline
	}
	return cfg
}
