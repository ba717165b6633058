package matrix

import "fmt"

// Lengths in bytes of messages without items, chunks and padding: the header, the RPC call or reply
// header, and the arguments or results.
const (
	emptyHeader = 7 * 4
	emptyCall   = emptyHeader + 10*4 + 2*4
	emptyReply  = emptyHeader + 6*4 + 2*4
)

// Positions in the stream of the first item's data.
const (
	firstArg    = 10*4 + 4 + 8
	firstResult = 6*4 + 4 + 8
)

// Lengths in bytes of entries in the chunk lists (draft section 4.3).
const (
	readEntry    = 6 * 4
	writeEntry   = 2 * 4 // without segments
	replyEntry   = 4     // likewise, in addition to the word that is always there
	segmentEntry = 4 * 4
	itemEntry    = 2 * 4 // of an item in the stream, without its data
)

// big does not fit inline.
const big = 2000

// lengths has data of 0 to 9 bytes, carried in every way.
func lengths() (cells []*Cell) {
	add := func(c *Cell) { cells = append(cells, c) }
	plain := func(c *Cell, call, reply string) {
		c.Client, c.Server = small, small
		c.RFC8166 = Want{Call: call, Reply: reply}
		c.Draft = c.RFC8166
		add(c)
	}
	sum := fmt.Sprintf
	for n := range 10 {
		r := roundUp(n)
		one := min(n, 1) // chunks of it
		bare := sum("MSG %d", emptyReply)

		plain(&Cell{Name: sum("argument inline, %d", n), Args: []Item{bulk(n)}},
			sum("MSG %d", emptyCall+itemEntry+r), bare)

		reads := readPart(firstArg, n)
		plain(&Cell{Name: sum("argument in a read chunk, %d", n), Args: []Item{bulk(n), bulk(big)}},
			sum("MSG %d%s read %d:%d", emptyCall+2*itemEntry+(1+one)*readEntry, reads, firstArg+r+itemEntry, big), bare)
		plain(&Cell{Name: sum("argument in a read chunk behind another, %d", n),
			Args: []Item{bulk(big + 1), bulk(n), text(n)}},
			sum("MSG %d read %d:%d%s", emptyCall+3*itemEntry+(1+one)*readEntry+r, firstArg, big+1,
				readPart(firstArg+roundUp(big+1)+itemEntry, n)), bare)
		plain(&Cell{Name: sum("long call, %d", n), Args: []Item{text(big), text(n)}},
			sum("NOMSG %d read 0:%d", emptyHeader+readEntry, emptyCall-emptyHeader+2*itemEntry+big+r), bare)
		at := firstArg + big + itemEntry
		plain(&Cell{Name: sum("long call with read chunks, %d", n), Args: []Item{text(big), bulk(n), bulk(1000)}},
			sum("NOMSG %d read 0:%d%s read %d:1000", emptyHeader+(2+one)*readEntry,
				emptyCall-emptyHeader+3*itemEntry+big,
				readPart(at, n), at+r+itemEntry), bare)

		plain(&Cell{Name: sum("result inline, %d", n), Results: []Item{bulk(n)}},
			sum("MSG %d", emptyCall), sum("MSG %d", emptyReply+itemEntry+r))

		writes := func(k int) int { return k * (writeEntry + segmentEntry) }
		// If no memory is offered, an empty chunk keeps the place.
		offered, lists := sum(" write %d", n), writes(1)
		c := &Cell{Name: sum("result in a write chunk, %d", n), Results: []Item{bulk(n), bulk(big)}}
		plain(c, sum("MSG %d%s write %d", emptyCall+lists+writes(1), offered, big), "")
		c.RFC8166.Reply = sum("MSG %d%s write %d", emptyReply+2*itemEntry+lists+writes(1), offered, big)
		c.Draft.Reply = c.RFC8166.Reply
		if n > 0 {
			c.Draft.Reply = sum("MSG %d write %d write %d", emptyReply+2*itemEntry+writes(2), r, big)
		}

		c = &Cell{Name: sum("result in a write chunk that is larger, %d", n),
			Results: []Item{bulk(n), bulk(big)}, Room: []int{12, big + 1}}
		plain(c, sum("MSG %d write 12 write %d", emptyCall+writes(2), big+1), "")
		c.RFC8166.Reply = sum("MSG %d write %d write %d", emptyReply+2*itemEntry+writes(2), n, big)
		c.Draft.Reply = sum("MSG %d write %d write %d", emptyReply+2*itemEntry+writes(2), r, big)

		reply := emptyReply - emptyHeader + itemEntry + big
		plain(&Cell{Name: sum("result in a reply chunk, %d", n), Results: []Item{text(big), text(n)}},
			sum("MSG %d reply %d", emptyCall+replyEntry+segmentEntry, reply+itemEntry+r),
			sum("NOMSG %d reply %d", emptyHeader+replyEntry+segmentEntry, reply+itemEntry+r))

		c = &Cell{Name: sum("result in a write chunk beside a reply chunk, %d", n), Results: []Item{bulk(n), text(big)}}
		chunk := sum(" reply %d", reply+itemEntry)
		if n == 0 {
			plain(c, sum("MSG %d%s", emptyCall+replyEntry+segmentEntry, chunk),
				sum("NOMSG %d%s", emptyHeader+replyEntry+segmentEntry, chunk))
		} else {
			lists := writes(1) + replyEntry + segmentEntry
			plain(c, sum("MSG %d write %d%s", emptyCall+lists, n, chunk), "")
			c.RFC8166.Reply = sum("NOMSG %d write %d%s", emptyHeader+lists, n, chunk)
			c.Draft.Reply = sum("NOMSG %d write %d%s", emptyHeader+lists, r, chunk)
		}

		// Without write and reply chunks, the draft dialect uses read chunks.
		unoffered := func(c *Cell, offer, rfc, reply string) {
			plain(c, offer, rfc)
			c.Client = noReplyChunks
			c.Draft = Want{Call: sum("MSG %d", emptyCall), Reply: reply}
		}
		at = firstResult + r + itemEntry
		c = &Cell{Name: sum("result in a read chunk, %d", n), Results: []Item{bulk(n), bulk(big)}}
		list := sum("%s write %d", offered, big)
		unoffered(c, sum("MSG %d%s", emptyCall+lists+writes(1), list),
			sum("MSG %d%s", emptyReply+2*itemEntry+lists+writes(1), list),
			sum("MSG %d%s read %d:%d", emptyReply+2*itemEntry+(1+one)*readEntry, readPart(firstResult, n), at, big))
		c = &Cell{Name: sum("long result to be read, %d", n), Results: []Item{text(big), text(n)}}
		list = sum(" reply %d", reply+itemEntry+r)
		unoffered(c, sum("MSG %d%s", emptyCall+replyEntry+segmentEntry, list),
			sum("NOMSG %d%s", emptyHeader+replyEntry+segmentEntry, list),
			sum("NOMSG %d read 0:%d", emptyHeader+readEntry, reply+itemEntry+r))
		at = firstResult + big + itemEntry
		c = &Cell{Name: sum("long result with read chunks, %d", n), Results: []Item{text(big), bulk(n), bulk(1000)}}
		list = sum("%s write 1000 reply %d", offered, reply+2*itemEntry)
		lists += writes(1) + replyEntry + segmentEntry
		unoffered(c, sum("MSG %d%s", emptyCall+lists, list), sum("NOMSG %d%s", emptyHeader+lists, list),
			sum("NOMSG %d read 0:%d%s read %d:1000", emptyHeader+(2+one)*readEntry, reply+2*itemEntry,
				readPart(at, n), at+r+itemEntry))
	}
	return cells
}

// readPart returns a read chunk in the notation of Want, or "" if n is 0.
func readPart(position, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" read %d:%d", position, n)
}
