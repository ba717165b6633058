package matrix

import "fmt"

// chunkCounts has as many chunks as fit in headers of 1024 bytes.
func chunkCounts() (cells []*Cell) {
	const size = 102
	items := func(n int) (all []Item) {
		for range n {
			all = append(all, bulk(size))
		}
		return all
	}
	reads := func(first, n int) (list string) {
		for i := range n {
			list += fmt.Sprintf(" read %d:%d", first+i*(roundUp(size)+itemEntry), size)
		}
		return list
	}
	writes := func(n, length int) (list string) {
		for range n {
			list += fmt.Sprintf(" write %d", length)
		}
		return list
	}
	const each = itemEntry + size + 2 // in the stream
	call, reply := emptyCall-emptyHeader, emptyReply-emptyHeader
	// A header has room for 41 read segments. The rest of the call fits beside up to 29 of them.
	// Beside up to 40 it becomes one more chunk. With more, the whole call becomes one chunk.
	// Replies are a little shorter.
	for _, n := range []int{29, 30, 40, 41} {
		want := fmt.Sprintf("MSG %d%s", emptyCall+n*(itemEntry+readEntry), reads(firstArg, n))
		switch {
		case n > 40:
			want = fmt.Sprintf("NOMSG 52 read 0:%d", call+n*each)
		case n > 29:
			want = fmt.Sprintf("NOMSG %d read 0:%d%s", emptyHeader+(n+1)*readEntry, call+n*itemEntry,
				reads(firstArg, n))
		}
		cells = append(cells, both(&Cell{Name: fmt.Sprintf("%d read chunks", n), Args: items(n)}, small, want,
			"MSG 60"))
	}
	for _, n := range []int{30, 31, 40, 41} {
		c := both(&Cell{Name: fmt.Sprintf("%d read chunks in a reply", n), Results: items(n), Room: []int{},
			MaxReply: 8000}, noReplyChunks,
			"MSG 96 reply 8024", fmt.Sprintf("NOMSG 48 reply %d", reply+n*each))
		c.Server = small
		c.Draft = Want{Call: "MSG 76", Reply: fmt.Sprintf("MSG %d%s", emptyReply+n*(itemEntry+readEntry),
			reads(firstResult, n))}
		switch {
		case n > 40:
			c.Draft.Reply = fmt.Sprintf("NOMSG 52 read 0:%d", reply+n*each)
		case n > 30:
			c.Draft.Reply = fmt.Sprintf("NOMSG %d read 0:%d%s", emptyHeader+(n+1)*readEntry,
				reply+n*itemEntry, reads(firstResult, n))
		}
		cells = append(cells, c)
	}
	for _, n := range []int{40, 41} { // or 40, plus the reply chunk, which has room for the rest
		c := both(&Cell{Name: fmt.Sprintf("%d read chunks in a reply, and the rest in a reply chunk", n),
			Results: items(n), Room: []int{}, MaxReply: 1976}, small,
			"MSG 96 reply 2000", "ERROR 20 ERR_CHUNK")
		lists := n*readEntry + replyEntry + segmentEntry
		c.Draft.Reply = fmt.Sprintf("NOMSG %d%s reply %d", emptyHeader+lists, reads(firstResult, n), reply+n*itemEntry)
		if n > 40 {
			c.Draft.Reply = fmt.Sprintf("NOMSG 72 read 0:%d reply 0", reply+n*each)
		}
		cells = append(cells, c)
	}
	// The rest of the reply fits beside 30 write chunks. With the rest in a reply chunk, the rest
	// of the call fits beside 38 write chunks.
	for _, n := range []int{30, 31, 38, 39, 40} {
		lists := n * (writeEntry + segmentEntry)
		c := both(&Cell{Name: fmt.Sprintf("%d write chunks", n), Results: items(n)}, small,
			fmt.Sprintf("MSG %d%s", emptyCall+lists, writes(n, size)),
			fmt.Sprintf("MSG %d%s", emptyReply+n*itemEntry+lists, writes(n, size)))
		c.Draft.Reply = fmt.Sprintf("MSG %d%s", emptyReply+n*itemEntry+lists, writes(n, roundUp(size)))
		if n > 30 {
			lists += replyEntry + segmentEntry
			chunk := fmt.Sprintf(" reply %d", reply+n*itemEntry)
			c.RFC8166.Call = fmt.Sprintf("MSG %d%s%s", emptyCall+lists, writes(n, size), chunk)
			c.RFC8166.Reply = fmt.Sprintf("NOMSG %d%s%s", emptyHeader+lists, writes(n, size), chunk)
			c.Draft.Reply = fmt.Sprintf("NOMSG %d%s%s", emptyHeader+lists, writes(n, roundUp(size)), chunk)
			if n > 38 {
				c.RFC8166.Call = fmt.Sprintf("NOMSG %d read 0:48%s%s", emptyHeader+readEntry+lists,
					writes(n, size), chunk)
			}
			c.Draft.Call = c.RFC8166.Call
		}
		if n > 39 {
			c.RFC8166, c.Draft = tooMany, tooMany
		}
		cells = append(cells, c)
	}
	return cells
}
