package matrix

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// tooMany is the Want of a call whose segments do not fit in any header.
var tooMany = Want{Err: chunks.ErrHeader}

// segs returns a chunk of n bytes in the notation of Want.
func segs(n, size int) string {
	var s []string
	for ; n > 0; n -= size {
		s = append(s, fmt.Sprint(min(n, size)))
	}
	return strings.Join(s, "+")
}

// filled returns a partly used chunk in the notation of Want. In the draft, lengths include the XDR
// round-up: it fills room after the data, or else extends the last length.
func filled(room, used, size int, draft bool) string {
	lengths, last := []int{}, 0
	if draft && roundUp(used) <= room {
		used = roundUp(used)
	}
	for ; room > 0; room -= size {
		k := min(used, size, room)
		if k > 0 {
			last = len(lengths)
		}
		lengths = append(lengths, k)
		used -= k
	}
	if draft {
		lengths[last] = roundUp(lengths[last])
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(lengths), "[]"), " ", "+")
}

// segmentSizes has chunks around the length of a segment, here 1024 bytes.
func segmentSizes() (cells []*Cell) {
	const size = 1024
	cfg := config(small, func(c *rpcrdma.Config) { c.SegmentSize = size })
	count := func(n int) int { return (n + size - 1) / size }
	for _, n := range []int{size - 1, size, size + 1, 2*size - 1, 2 * size, 2*size + 1, 2*size + 3} {
		cells = append(cells, both(&Cell{Name: fmt.Sprintf("argument in segments, %d", n), Args: []Item{bulk(n)}}, cfg,
			fmt.Sprintf("MSG %d read %d:%s", emptyCall+itemEntry+count(n)*readEntry, firstArg, segs(n, size)),
			"MSG 60"))

		lists := writeEntry + count(n)*segmentEntry
		c := both(&Cell{Name: fmt.Sprintf("result in segments, %d", n), Results: []Item{bulk(n)}}, cfg,
			fmt.Sprintf("MSG %d write %s", emptyCall+lists, segs(n, size)),
			fmt.Sprintf("MSG %d write %s", emptyReply+itemEntry+lists, segs(n, size)))
		c.Draft.Reply = fmt.Sprintf("MSG %d write %s", emptyReply+itemEntry+lists, filled(n, n, size, true))
		cells = append(cells, c)

		c = both(&Cell{Name: fmt.Sprintf("result in segments to be read, %d", n), Results: []Item{bulk(n)}},
			cfg, c.RFC8166.Call, c.RFC8166.Reply)
		c.Client.NoReplyChunks = true
		c.Draft = Want{Call: "MSG 76", Reply: fmt.Sprintf("MSG %d read %d:%s",
			emptyReply+itemEntry+count(n)*readEntry, firstResult, segs(n, size))}
		cells = append(cells, c)

		if n%4 == 0 || n == size+1 {
			n := roundUp(n) // of the whole message
			list := replyEntry + count(n)*segmentEntry
			data := n - (emptyReply - emptyHeader) - itemEntry
			c := both(&Cell{Name: fmt.Sprintf("long reply in segments, %d", n), Results: []Item{text(data)}}, cfg,
				fmt.Sprintf("MSG %d reply %s", emptyCall+list, segs(n, size)),
				fmt.Sprintf("NOMSG %d reply %s", emptyHeader+list, segs(n, size)))
			data = n - (emptyCall - emptyHeader) - itemEntry
			if n == size { // fits
				c.RFC8166 = Want{Call: "MSG 96 reply 1024", Reply: "NOMSG 48 reply 1024"}
			}
			cells = append(cells, c, both(&Cell{Name: fmt.Sprintf("long call in segments, %d", n),
				Args: []Item{text(data)}}, cfg,
				fmt.Sprintf("NOMSG %d read 0:%s", emptyHeader+count(n)*readEntry, segs(n, size)), "MSG 60"))
		}
	}
	const room = 2*size + 951 // not a multiple of four
	for _, n := range []int{0, 1, size - 1, size, size + 1, 2*size - 3, 2 * size, 2*size + 1, room - 3,
		room - 1, room} {
		lists := writeEntry + 3*segmentEntry
		c := both(&Cell{Name: fmt.Sprintf("%d bytes in a write chunk of three segments", n),
			Results: []Item{bulk(n)}, Room: []int{room}}, cfg,
			fmt.Sprintf("MSG %d write %s", emptyCall+lists, segs(room, size)),
			fmt.Sprintf("MSG %d write %s", emptyReply+itemEntry+lists, filled(room, n, size, false)))
		c.Draft.Reply = fmt.Sprintf("MSG %d write %s", emptyReply+itemEntry+lists, filled(room, n, size, true))
		cells = append(cells, c)
	}
	// Messages in a reply chunk of three segments. The first fits inline.
	for _, n := range []int{984, size, size + 4, 2 * size, 2*size + 4, 3000} {
		lists := replyEntry + 3*segmentEntry
		reply := fmt.Sprintf("NOMSG %d reply %s", emptyHeader+lists, filled(3000, n, size, false))
		cells = append(cells, both(&Cell{Name: fmt.Sprintf("%d bytes in a reply chunk of three segments", n),
			MaxReply: 3000 - 24,
			Results:  []Item{text(n - (emptyReply - emptyHeader) - itemEntry)}}, cfg,
			fmt.Sprintf("MSG %d reply %s", emptyCall+lists, segs(3000, size)), reply))
	}
	return cells
}

// segmentCounts has as many segments as fit in a header of 1024 bytes, and as a header may have.
func segmentCounts() (cells []*Cell) {
	const size = 1024
	cfg := config(small, func(c *rpcrdma.Config) { c.SegmentSize = size })
	quiet := config(cfg, func(c *rpcrdma.Config) { c.NoReplyChunks = true })
	add := func(name string, n int, items [2][]Item, w Want) *Cell {
		c := both(&Cell{Name: fmt.Sprintf("%s of %d segments", name, n), Args: items[0], Results: items[1]},
			cfg, w.Call, w.Reply)
		c.RFC8166.Err, c.Draft.Err = w.Err, w.Err
		cells = append(cells, c)
		return c
	}
	for n := 39; n <= 41; n++ { // 84 + 24n, or 28 + 24(n+1) with the rest at position zero
		w := Want{Call: "MSG 1020 read 52:" + segs(n*size, size), Reply: "MSG 60"}
		switch n {
		case 40:
			w.Call = "NOMSG 1012 read 0:56 read 52:" + segs(n*size, size)
		case 41:
			w = tooMany
		}
		add("read chunk", n, [2][]Item{{bulk(n * size)}}, w)

		// Of a reply, 68 + 24n.
		c := both(&Cell{Name: fmt.Sprintf("read chunk in a reply of %d segments", n),
			Results: []Item{bulk(n * size)}}, quiet,
			fmt.Sprintf("MSG 100 write %d", n*size), fmt.Sprintf("MSG 92 write %d", n*size))
		c.Client.SegmentSize = 0
		c.Draft = Want{Call: "MSG 76", Reply: "MSG 1004 read 36:" + segs(n*size, size)}
		switch n {
		case 40:
			c.Draft.Reply = "NOMSG 1012 read 0:40 read 36:" + segs(n*size, size)
		case 41:
			c.Draft.Reply = "ERROR 20 ERR_CHUNK"
		}
		cells = append(cells, c)
	}
	for n := 58; n <= 60; n++ { // 84 + 16n; with the call at position zero 60 + 16n
		list := segs(n*size, size)
		w := Want{Call: "MSG 1012 write " + list, Reply: "MSG 1004 write " + list}
		switch n {
		case 59:
			w = Want{Call: "NOMSG 1004 read 0:48 write " + list, Reply: "MSG 1020 write " + list}
		case 60: // the reply uses a reply chunk too
			w = tooMany
		}
		add("write chunk", n, [2][]Item{nil, {bulk(n * size)}}, w)
	}
	for n := 59; n <= 61; n++ { // 80 + 16n; with the call at position zero 56 + 16n
		list := segs(n*size, size)
		w := Want{Call: "MSG 1024 reply " + list, Reply: "NOMSG 976 reply " + list}
		switch n {
		case 60:
			w = Want{Call: "NOMSG 1016 read 0:48 reply " + list, Reply: "NOMSG 992 reply " + list}
		case 61:
			w = tooMany
		}
		add("reply chunk", n, [2][]Item{nil, {text(n*size - 40)}}, w)
	}
	var many []Item // too many to have their own chunks
	for range 50 {
		many = append(many, bulk(101))
	}
	add("long call with 50 items", 6, [2][]Item{many, nil},
		Want{Call: "NOMSG 172 read 0:" + segs(48+50*112, size), Reply: "MSG 60"})
	c := both(&Cell{Name: "long result with 50 items to be read", Results: many, Room: []int{}, MaxReply: 6000}, quiet,
		"MSG 176 reply "+segs(6024, size), "NOMSG 128 reply "+filled(6024, 32+50*112, size, false))
	c.Draft = Want{Call: "MSG 76", Reply: "NOMSG 172 read 0:" + segs(32+50*112, size)}
	cells = append(cells, c)

	large := config(cfg, func(c *rpcrdma.Config) { c.InlineSend, c.InlineRecv = 65536, 65536 })
	for n := chunks.MaxSegments; n <= chunks.MaxSegments+1; n++ {
		w := Want{Call: fmt.Sprintf("MSG %d read 52:%s", 84+24*n, segs(n*size, size)), Reply: "MSG 60"}
		list := segs(n*size, size)
		v := Want{Call: fmt.Sprintf("MSG %d write %s", 84+16*n, list),
			Reply: fmt.Sprintf("MSG %d write %s", 76+16*n, list)}
		u := Want{Call: fmt.Sprintf("MSG %d reply %s", 80+16*n, list),
			Reply: fmt.Sprintf("NOMSG %d reply %s", 32+16*n, list)}
		if n > chunks.MaxSegments {
			w, v, u = tooMany, tooMany, tooMany
		}
		for _, c := range []*Cell{add("read chunk", n, [2][]Item{{bulk(n * size)}}, w),
			add("write chunk", n, [2][]Item{nil, {bulk(n * size)}}, v),
			add("reply chunk", n, [2][]Item{nil, {text(n*size - 40)}}, u)} {
			c.Client, c.Server = large, large
		}

		// The client has no such segments.
		c := both(&Cell{Name: fmt.Sprintf("read chunk in a reply of %d segments", n),
			Results: []Item{bulk(n * size)}}, quiet,
			"MSG 100 write 1048576", "MSG 92 write 1048576")
		c.Draft = Want{Call: "MSG 76", Reply: fmt.Sprintf("MSG %d read 36:%s", 68+24*n, list)}
		if n > chunks.MaxSegments {
			c.RFC8166 = Want{Call: "MSG 116 write 1048576+1024", Reply: "MSG 108 write 1048576+1024"}
			c.Draft.Reply = "ERROR 20 ERR_CHUNK"
		}
		c.Client, c.Server = large, large
		c.Client.SegmentSize, c.Client.NoReplyChunks = 0, true
		cells = append(cells, c)
	}
	return cells
}
