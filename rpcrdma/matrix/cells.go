package matrix

import "github.com/rpcrdma/go-rpcrdma/rpcrdma"

// Cells returns the table.
func Cells() []*Cell {
	var all []*Cell
	for _, f := range []func() []*Cell{lengths} {
		all = append(all, f()...)
	}
	return all
}

// small is both ends with the smallest messages, so that little data does not fit, and with chunks of any length.
var small = rpcrdma.Config{InlineSend: 1024, InlineRecv: 1024, MinChunk: 1}

// config returns c with changes.
func config(c rpcrdma.Config, change func(*rpcrdma.Config)) rpcrdma.Config {
	change(&c)
	return c
}

// noReplyChunks is small, and offers nothing to write to.
var noReplyChunks = config(small, func(c *rpcrdma.Config) { c.NoReplyChunks = true })
