package matrix

import "github.com/rpcrdma/go-rpcrdma/rpcrdma"

// Cells returns the table.
func Cells() []*Cell {
	var all []*Cell
	for _, f := range []func() []*Cell{lengths, combinations, limits, paddings} {
		all = append(all, f()...)
	}
	return all
}

// Groups returns the cells that end in a reply, grouped by configuration. The calls of a group can
// share a connection.
func Groups() (groups [][]*Cell) {
	type ends struct{ client, server rpcrdma.Config }
	index := make(map[ends]int)
	for _, c := range Cells() {
		if c.RFC8166.Err != nil || c.Draft.Err != nil {
			continue
		}
		e := ends{c.Client, c.Server}
		i, ok := index[e]
		if !ok {
			i = len(groups)
			index[e] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// small configures both ends with the smallest messages, so that little data fits inline, and with
// chunks of any length.
var small = rpcrdma.Config{InlineSend: 1024, InlineRecv: 1024, MinChunk: 1}

// config returns c with changes.
func config(c rpcrdma.Config, change func(*rpcrdma.Config)) rpcrdma.Config {
	change(&c)
	return c
}

// noReplyChunks is small without write chunks and reply chunks.
var noReplyChunks = config(small, func(c *rpcrdma.Config) { c.NoReplyChunks = true })
