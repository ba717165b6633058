package matrix

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// limits has cells one below, at, and one above every limit.
func limits() (cells []*Cell) {
	for _, f := range []func() []*Cell{inlineLimits, minChunks, chunkFroms, segmentSizes, messageSizes,
		segmentCounts, chunkCounts, rooms} {
		cells = append(cells, f()...)
	}
	return cells
}

// both returns a cell with the same messages in both dialects.
func both(c *Cell, cfg rpcrdma.Config, call, reply string) *Cell {
	c.Client, c.Server = cfg, cfg
	c.RFC8166 = Want{Call: call, Reply: reply}
	c.Draft = c.RFC8166
	return c
}

// inlineLimits has Sends that just fit, and Sends that just do not, in both directions, with the
// limit set at either end.
func inlineLimits() (cells []*Cell) {
	bare := fmt.Sprintf("MSG %d", emptyReply)
	for _, at := range []struct {
		name           string
		call, reply    int
		client, server rpcrdma.Config
	}{
		{"defaults", 4096, 4096, rpcrdma.Config{}, rpcrdma.Config{}},
		{"set by the client", 1024, 2048, rpcrdma.Config{InlineSend: 1024, InlineRecv: 2048},
			rpcrdma.Config{InlineSend: 8192, InlineRecv: 8192}},
		{"set by the server", 2048, 3072, rpcrdma.Config{InlineSend: 8192, InlineRecv: 8192},
			rpcrdma.Config{InlineSend: 3072, InlineRecv: 2048}},
		{"set by who sends", 2048, 1024, rpcrdma.Config{InlineSend: 2048, InlineRecv: 8192},
			rpcrdma.Config{InlineSend: 1024, InlineRecv: 8192}},
		{"set by who receives", 1024, 2048, rpcrdma.Config{InlineSend: 8192, InlineRecv: 2048},
			rpcrdma.Config{InlineSend: 8192, InlineRecv: 1024}},
		{"as large as can be", 65536, 65536, rpcrdma.Config{InlineSend: 65536, InlineRecv: 65536},
			rpcrdma.Config{InlineSend: 65536, InlineRecv: 65536}},
		{"nothing said", 1024, 1024, rpcrdma.Config{NoPrivateData: true}, rpcrdma.Config{NoPrivateData: true}},
	} {
		for extra := -1; extra <= 1; extra++ {
			n := at.call - emptyCall - itemEntry + extra
			fit := fmt.Sprintf("MSG %d", emptyCall+itemEntry+roundUp(n))
			if extra > 0 {
				fit = fmt.Sprintf("NOMSG %d read 0:%d", emptyHeader+readEntry,
					emptyCall-emptyHeader+itemEntry+roundUp(n))
			}
			call := both(&Cell{Name: fmt.Sprintf("call of %d bytes, limit %s", at.call+extra, at.name),
				Args: []Item{text(n)}}, small, fit, bare)
			call.Client, call.Server = at.client, at.server

			n = at.reply - emptyReply - itemEntry + extra
			none, fit := fmt.Sprintf("MSG %d", emptyCall), fmt.Sprintf("MSG %d", emptyReply+itemEntry+roundUp(n))
			if extra > 0 {
				list := fmt.Sprintf(" reply %d", emptyReply-emptyHeader+itemEntry+roundUp(n))
				none = fmt.Sprintf("MSG %d%s", emptyCall+replyEntry+segmentEntry, list)
				fit = fmt.Sprintf("NOMSG %d%s", emptyHeader+replyEntry+segmentEntry, list)
			}
			reply := both(&Cell{Name: fmt.Sprintf("reply of %d bytes, limit %s", at.reply+extra, at.name),
				Results: []Item{text(n)}}, small, none, fit)
			reply.Client, reply.Server = at.client, at.server
			cells = append(cells, call, reply)
		}
	}
	for extra := -1; extra <= 1; extra++ { // bulk data: by chunk if it does not fit
		n := 1024 - emptyCall - itemEntry + extra
		fit := fmt.Sprintf("MSG %d", emptyCall+itemEntry+roundUp(n))
		if extra > 0 {
			fit = fmt.Sprintf("MSG %d read %d:%d", emptyCall+itemEntry+readEntry, firstArg, n)
		}
		cells = append(cells, both(&Cell{
			Name: fmt.Sprintf("call of %d bytes, most of it bulk data", 1024+extra), Args: []Item{bulk(n)},
		}, small, fit, bare))

		n = 1024 - emptyReply - itemEntry + extra
		c := both(&Cell{Name: fmt.Sprintf("reply of %d bytes, most of it bulk data", 1024+extra),
			Results: []Item{bulk(n)}}, small,
			fmt.Sprintf("MSG %d", emptyCall), fmt.Sprintf("MSG %d", emptyReply+itemEntry+roundUp(n)))
		if extra > 0 {
			lists := writeEntry + segmentEntry
			c.RFC8166 = Want{Call: fmt.Sprintf("MSG %d write %d", emptyCall+lists, n),
				Reply: fmt.Sprintf("MSG %d write %d", emptyReply+itemEntry+lists, n)}
			c.Draft = Want{Call: c.RFC8166.Call,
				Reply: fmt.Sprintf("MSG %d write %d", emptyReply+itemEntry+lists, roundUp(n))}
		}
		cells = append(cells, c)
	}
	for extra := -1; extra <= 1; extra++ { // with lists in the header
		n := 1024 - emptyCall - 2*itemEntry - readEntry + extra
		at := firstArg + roundUp(n) + itemEntry
		fit := fmt.Sprintf("MSG %d read %d:%d", emptyCall+2*itemEntry+readEntry+roundUp(n), at, big+1)
		if extra > 0 {
			fit = fmt.Sprintf("NOMSG %d read 0:%d read %d:%d", emptyHeader+2*readEntry,
				emptyCall-emptyHeader+2*itemEntry+roundUp(n), at, big+1)
		}
		cells = append(cells, both(&Cell{Name: fmt.Sprintf("call of %d bytes with a read chunk", 1024+extra),
			Args: []Item{text(n), bulk(big + 1)}}, small, fit, bare))

		for _, offer := range []struct {
			name, list string
			len        int // bytes in the header
			results    []Item
			reply      string
		}{
			{"reply", fmt.Sprintf(" reply %d", emptyReply-emptyHeader+itemEntry+big),
				replyEntry + segmentEntry, []Item{text(big)},
				fmt.Sprintf("NOMSG %d reply %d", emptyHeader+replyEntry+segmentEntry,
					emptyReply-emptyHeader+itemEntry+big)},
			{"write", fmt.Sprintf(" write %d", big), writeEntry + segmentEntry, []Item{bulk(big)},
				fmt.Sprintf("MSG %d write %d", emptyReply+itemEntry+writeEntry+segmentEntry, big)},
		} {
			n := 1024 - emptyCall - itemEntry - offer.len + extra
			fit := fmt.Sprintf("MSG %d%s", emptyCall+itemEntry+offer.len+roundUp(n), offer.list)
			if extra > 0 {
				fit = fmt.Sprintf("NOMSG %d read 0:%d%s", emptyHeader+readEntry+offer.len,
					emptyCall-emptyHeader+itemEntry+roundUp(n), offer.list)
			}
			cells = append(cells, both(&Cell{
				Name: fmt.Sprintf("call of %d bytes with a %s chunk", 1024+extra, offer.name),
				Args: []Item{text(n)}, Results: offer.results,
			}, small, fit, offer.reply))
		}

		n = 1024 - emptyReply - itemEntry - replyEntry - segmentEntry + extra
		fit = fmt.Sprintf("MSG %d reply 0", emptyReply+itemEntry+roundUp(n)+replyEntry+segmentEntry)
		if extra > 0 {
			fit = fmt.Sprintf("NOMSG %d reply %d", emptyHeader+replyEntry+segmentEntry,
				emptyReply-emptyHeader+itemEntry+roundUp(n))
		}
		cells = append(cells, both(&Cell{
			Name:    fmt.Sprintf("reply of %d bytes with a reply chunk", 1024+extra),
			Results: []Item{text(n)}, MaxReply: 2976,
		}, small, fmt.Sprintf("MSG %d reply 3000", emptyCall+replyEntry+segmentEntry), fit))

		n = 1024 - emptyReply - 2*itemEntry - readEntry + extra
		at = firstResult + roundUp(n) + itemEntry
		c := both(&Cell{Name: fmt.Sprintf("reply of %d bytes with a read chunk", 1024+extra),
			Results: []Item{text(n), bulk(big + 1)}, Room: []int{}, MaxReply: 3976},
			noReplyChunks, fmt.Sprintf("MSG %d reply 4000", emptyCall+replyEntry+segmentEntry),
			fmt.Sprintf("NOMSG %d reply %d", emptyHeader+replyEntry+segmentEntry,
				emptyReply-emptyHeader+2*itemEntry+roundUp(n)+roundUp(big+1)))
		c.Server = small
		c.Draft = Want{Call: "MSG 76", Reply: fmt.Sprintf("MSG %d read %d:%d",
			emptyReply+2*itemEntry+readEntry+roundUp(n), at, big+1)}
		if extra > 0 {
			c.Draft.Reply = fmt.Sprintf("NOMSG %d read 0:%d read %d:%d", emptyHeader+2*readEntry,
				emptyReply-emptyHeader+2*itemEntry+roundUp(n), at, big+1)
		}
		cells = append(cells, c)

		n = 1024 - emptyReply - 2*itemEntry - writeEntry - segmentEntry + extra
		call := fmt.Sprintf("MSG %d write %d", emptyCall+writeEntry+segmentEntry, big)
		fit = fmt.Sprintf("MSG %d write %d", emptyReply+2*itemEntry+writeEntry+segmentEntry+roundUp(n), big)
		if extra > 0 {
			list := fmt.Sprintf(" write %d reply %d", big, emptyReply-emptyHeader+2*itemEntry+roundUp(n))
			lists := writeEntry + segmentEntry + replyEntry + segmentEntry
			call, fit = fmt.Sprintf("MSG %d%s", emptyCall+lists, list),
				fmt.Sprintf("NOMSG %d%s", emptyHeader+lists, list)
		}
		cells = append(cells, both(&Cell{
			Name:    fmt.Sprintf("reply of %d bytes with a write chunk", 1024+extra),
			Results: []Item{bulk(big), text(n)},
		}, small, call, fit))
	}
	return cells
}

// minChunks has bulk data around MinChunk, the length from which data gets its own chunk.
func minChunks() (cells []*Cell) {
	cfg := config(small, func(c *rpcrdma.Config) { c.MinChunk = 100 })
	for n := 99; n <= 101; n++ {
		call := fmt.Sprintf("MSG 1016 read 52:%d", n)
		if n < 100 {
			call = "NOMSG 52 read 0:1064"
		}
		cells = append(cells, both(&Cell{Name: fmt.Sprintf("argument of %d bytes, chunks of 100", n),
			Args: []Item{bulk(n), text(900)}}, cfg, call, "MSG 60"))

		c := both(&Cell{Name: fmt.Sprintf("result of %d bytes, chunks of 100", n),
			Results: []Item{bulk(n), text(900)}}, cfg,
			fmt.Sprintf("MSG 100 write %d", n), fmt.Sprintf("MSG 1000 write %d", n))
		c.Client.NoReplyChunks = true
		c.Draft = Want{Call: "MSG 76", Reply: fmt.Sprintf("MSG 1000 read 36:%d", n)}
		if n < 100 {
			c.Draft.Reply = "NOMSG 52 read 0:1048"
		}
		cells = append(cells, c)
	}
	return cells
}

// messageSizes has messages around the largest message that an end accepts, 64 KiB.
func messageSizes() (cells []*Cell) {
	const most = 64 << 10
	cfg := config(small, func(c *rpcrdma.Config) { c.MaxMessage = most })
	call, reply := emptyCall-emptyHeader+itemEntry, emptyReply-emptyHeader+itemEntry
	for extra := -1; extra <= 1; extra++ {
		n := most - call + extra
		want := fmt.Sprintf("NOMSG %d read 0:%d", emptyHeader+readEntry, call+roundUp(n))
		c := both(&Cell{Name: fmt.Sprintf("call of %d bytes, the client makes 65536", most+extra),
			Args: []Item{text(n)}}, small, want, "MSG 60")
		c.Client = cfg
		if extra > 0 {
			c.RFC8166 = Want{Err: &oncrpc.CallTooLongError{Len: call + roundUp(n), Max: most}}
			c.Draft = c.RFC8166
		}
		d := both(&Cell{Name: fmt.Sprintf("call of %d bytes, the server takes 65536", most+extra),
			Args: []Item{text(n)}}, small, want, "MSG 60")
		d.Server = cfg
		e := both(&Cell{Name: fmt.Sprintf("argument of %d bytes, the server takes 65536", most+extra),
			Args: []Item{bulk(most + extra)}}, small,
			fmt.Sprintf("MSG 108 read 52:%d", most+extra), "MSG 60")
		e.Server = cfg
		if extra > 0 {
			for _, c := range []*Cell{d, e} {
				c.RFC8166.Reply = "ERROR 20 ERR_CHUNK"
				c.Draft.Reply = c.RFC8166.Reply
			}
		}

		g := both(&Cell{
			Name: fmt.Sprintf("call of %d bytes in two chunks, the server takes 65536", most+extra),
			Args: []Item{text(2000), bulk(most - call - 2000 - itemEntry + extra)}},
			small, fmt.Sprintf("NOMSG 76 read 0:%d read %d:%d", call+2000+itemEntry, firstArg+2000+itemEntry,
				most-call-2000-itemEntry+extra), "MSG 60")
		g.Server = cfg
		h := both(&Cell{Name: fmt.Sprintf("reply of %d bytes expected, the client takes 65536", most+extra),
			Results: []Item{text(10)}, MaxReply: most - 24 + extra}, small,
			"MSG 96 reply 65536", "MSG 100 reply 0")
		h.Client = cfg
		if extra > 0 {
			g.RFC8166.Reply = "ERROR 20 ERR_CHUNK"
			g.Draft.Reply = g.RFC8166.Reply
			tooLong := &oncrpc.ReplyTooLongError{Len: most + 4, Max: most, NotSent: true}
			h.RFC8166 = Want{Err: tooLong}
			h.Draft = h.RFC8166
		}
		cells = append(cells, g, h)

		n = most - reply + extra
		f := both(&Cell{Name: fmt.Sprintf("reply of %d bytes to be read, the client takes 65536", most+extra),
			Results: []Item{text(n)}, MaxReply: 100}, small,
			"MSG 76", "ERROR 20 ERR_CHUNK")
		f.Client = cfg
		f.Draft.Reply = fmt.Sprintf("NOMSG 52 read 0:%d", reply+roundUp(n))
		g = both(&Cell{Name: fmt.Sprintf("reply of %d bytes to be read, the server makes 65536", most+extra),
			Results: []Item{text(n)}, MaxReply: 100}, small,
			"MSG 76", "ERROR 20 ERR_CHUNK")
		g.Server = cfg
		g.Draft.Reply = f.Draft.Reply
		if extra > 0 {
			f.Draft.Err = chunks.ErrMalformed
			g.Draft.Reply = "ERROR 20 ERR_CHUNK"
		}
		cells = append(cells, c, d, e, f, g)
	}
	return cells
}
