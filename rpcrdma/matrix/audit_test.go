package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// exchange is a call and what followed from it.
type exchange struct {
	call, reply             *event
	done                    *event
	callHeader, replyHeader header
	callBody, replyBody     []byte

	proc             uint32
	args, results    []byte // the call and the reply, whole
	sawCall, sawBack string // in the words of Want
}

// audit checks what the two ends of a connection have done to each other.
type audit struct {
	draft   bool
	ours    [2]bool // whether an end is ours, and not played by hand
	limit   [2]int  // the longest Send of an end, in bytes
	segment [2]int  // the longest segment that an end makes

	log       []event
	exchanges []*exchange
	used      map[*event]bool // Reads and Writes that belong to an exchange
	errs      []error
}

func (a *audit) fail(format string, args ...any) {
	a.errs = append(a.errs, fmt.Errorf(format, args...))
}

// run goes through the log. What was wrong is in errs then.
func (a *audit) run(log []event) error {
	a.log, a.used = log, make(map[*event]bool)
	a.sends()
	for _, x := range a.exchanges {
		a.checkCall(x)
		if x.reply != nil {
			a.checkReply(x)
		}
		a.checkDone(x)
	}
	a.windows()
	a.credits()
	for i := range log {
		if e := &log[i]; (e.kind == read || e.kind == wrote) && !a.used[e] {
			a.fail("an operation of the %v on memory that nothing has offered: tag %#x, offset %#x", e.end, e.remote.STag, e.remote.Offset)
		}
	}
	return errors.Join(a.errs...)
}

// sends pairs the messages.
func (a *audit) sends() {
	byXID := make(map[uint32]*exchange)
	for i := range a.log {
		e := &a.log[i]
		if e.kind != sent {
			continue
		}
		if len(e.data) > a.limit[e.end] {
			a.fail("a Send of %d bytes from the %v, %d are allowed", len(e.data), e.end, a.limit[e.end])
		}
		h, body, err := parseHeader(e.data)
		if err != nil {
			if a.ours[e.end] {
				a.fail("from the %v: %w", e.end, err)
			}
			continue
		}
		x := byXID[h.xid]
		switch {
		case e.end == client && h.proc == done:
			switch {
			case !a.draft:
				a.fail("RDMA_DONE in RFC 8166")
			case x == nil || x.reply == nil:
				a.fail("RDMA_DONE for transaction %#x without a reply", h.xid)
			case x.done != nil:
				a.fail("second RDMA_DONE for transaction %#x", h.xid)
			default:
				x.done = e
			}
		case e.end == client && h.proc == fault:
			a.fail("RDMA_ERROR from the client")
		case e.end == client:
			if x != nil && x.reply == nil {
				a.fail("transaction %#x is under way already", h.xid)
			}
			x = &exchange{call: e, callHeader: h, callBody: body}
			byXID[h.xid] = x
			a.exchanges = append(a.exchanges, x)
		case x == nil || x.reply != nil:
			a.fail("a reply to no call, transaction %#x", h.xid)
		default:
			x.reply, x.replyHeader, x.replyBody = e, h, body
		}
	}
	for _, x := range a.exchanges {
		if x.reply == nil {
			a.fail("no reply to transaction %#x", x.callHeader.xid)
		}
	}
}

// checkCall puts a call together and checks it.
func (a *audit) checkCall(x *exchange) {
	h := &x.callHeader
	until := x.reply
	a.checkHeader("call", client, h)
	s := a.stream(x.call, h, x.callBody)
	s.reads = a.readChunks("call", h, client, x.call, until)
	switch long := len(s.reads) > 0 && s.reads[0].position == 0; {
	case long && h.proc != nomsg:
		a.fail("call: a chunk at position 0 beside a message")
	case !long && h.proc == nomsg:
		a.fail("call: RDMA_NOMSG without a message")
	case long:
		a.long(&s)
	}
	xid, proc := s.call()
	if xid != h.xid {
		s.fail("XID %#x, in the header %#x", xid, h.xid)
	}
	if s.err != nil && (a.ours[client] || x.replyHeader.proc != fault) {
		a.fail("call: %w", s.err)
	}
	x.proc, x.args = proc, s.whole
	x.sawCall = h.describe(len(x.call.data), s.padding)
}

// checkReply puts a reply together and checks it against what the call has offered.
func (a *audit) checkReply(x *exchange) {
	offer, h := &x.callHeader, &x.replyHeader
	x.sawBack = h.describe(len(x.reply.data), 0)
	if h.proc == fault {
		a.free(x) // what was written does not matter any more
		return
	}
	a.checkHeader("reply", server, h)
	if len(h.writes) != len(offer.writes) {
		a.fail("reply: %d write chunks returned of %d", len(h.writes), len(offer.writes))
		return
	}
	if h.hasReply != offer.hasReply {
		a.fail("reply: with a reply chunk: %v, the call: %v", h.hasReply, offer.hasReply)
	}
	if len(h.reads) > 0 && !a.draft && a.ours[server] {
		a.fail("reply: with a read list")
	}
	s := a.stream(x.reply, h, x.replyBody)
	s.reads = a.readChunks("reply", h, server, x.reply, x.done)
	for i, w := range h.writes {
		a.returned(offer.writes[i], w)
		s.results = append(s.results, writeChunk{offer.writes[i], w, a.transferred(offer.writes[i], wrote, server, x.call, x.reply)})
	}
	if h.hasReply {
		a.returned(offer.reply, h.reply)
	}
	data := a.transferred(offer.reply, wrote, server, x.call, x.reply)
	switch long := len(s.reads) > 0 && s.reads[0].position == 0; {
	case len(data) != h.reply.len():
		a.fail("reply: %d bytes written to the reply chunk, %d are returned", len(data), h.reply.len())
	case h.proc != nomsg && (long || len(data) > 0):
		a.fail("reply: a message beside a message")
	case h.proc == nomsg && long == (len(data) > 0):
		a.fail("reply: RDMA_NOMSG with no message, or two")
	case long:
		a.long(&s)
	case h.proc == nomsg:
		s.inline = data
	}
	if xid := s.reply(x.proc); xid != h.xid {
		s.fail("XID %#x, in the header %#x", xid, h.xid)
	}
	if s.err != nil && (a.ours[server] || x.done != nil) {
		a.fail("reply: %w", s.err)
	}
	x.results = s.whole
	x.sawBack = h.describe(len(x.reply.data), s.padding)
}

// free marks the operations that an exchange with an error has had.
func (a *audit) free(x *exchange) {
	for i := range a.log {
		if e := &a.log[i]; (e.kind == read || e.kind == wrote) && e.at > x.call.at && e.at < x.reply.at {
			a.used[e] = true
		}
	}
}

// checkDone checks that there is one for each reply with a read list, and behind all Reads of it.
func (a *audit) checkDone(x *exchange) {
	if x.reply == nil || !a.draft || !a.ours[client] {
		return
	}
	switch reads := len(x.replyHeader.reads) > 0; {
	case reads && x.done == nil:
		a.fail("no RDMA_DONE for a reply with a read list")
	case !reads && x.done != nil:
		a.fail("RDMA_DONE for a reply without a read list")
	case reads && x.done.at < x.reply.at:
		a.fail("RDMA_DONE ahead of the reply")
	}
}

// checkHeader checks what is the same for calls and replies.
func (a *audit) checkHeader(what string, from end, h *header) {
	if !a.ours[from] {
		return
	}
	if h.credit == 0 {
		a.fail("%s: no credits", what)
	}
	if h.proc == msgp && (!a.draft || h.align == 0 || h.align&(h.align-1) != 0) {
		a.fail("%s: RDMA_MSGP with an alignment of %d", what, h.align)
	}
	for i, r := range h.reads {
		switch {
		case r.length == 0 || int(r.length) > a.segment[from]:
			a.fail("%s: read segment of %d bytes", what, r.length)
		case r.position%4 != 0:
			a.fail("%s: read chunk at %d", what, r.position)
		case i > 0 && h.reads[i-1].position > r.position:
			a.fail("%s: read chunk at %d behind that at %d", what, r.position, h.reads[i-1].position)
		}
	}
	if from == client {
		for _, c := range append(slices.Clone(h.writes), h.reply) {
			for _, s := range c {
				if s.length == 0 || int(s.length) > a.segment[client] {
					a.fail("%s: write segment of %d bytes", what, s.length)
				}
			}
		}
	}
}

// stream begins to put a message together.
func (a *audit) stream(e *event, h *header, body []byte) stream {
	s := stream{inline: body, at: len(e.data) - len(body), draft: a.draft, ours: a.ours[e.end]}
	if h.proc == msgp {
		s.padded, s.align, s.thresh = h.align > 0, int(h.align), int(h.thresh)
	}
	return s
}

// long puts the chunk at position zero in place of the inline part.
func (a *audit) long(s *stream) {
	if c := s.reads[0]; len(c.data) != c.len {
		a.fail("%d bytes read of %d at position 0", len(c.data), c.len)
	} else {
		s.inline, s.reads = c.data, s.reads[1:]
	}
}

// readChunks returns the read chunks of a message by position, with what its receiver has read until another.
func (a *audit) readChunks(what string, h *header, from end, message, until *event) (chunks []readChunk) {
	byPosition := make(map[uint32]chunk)
	for _, r := range h.reads {
		byPosition[r.position] = append(byPosition[r.position], r.segment)
	}
	for position, segs := range byPosition {
		data := a.transferred(segs, read, from.peer(), message, until)
		chunks = append(chunks, readChunk{int(position), segs.len(), data})
	}
	slices.SortFunc(chunks, func(a, b readChunk) int { return cmp.Compare(a.position, b.position) })
	// What inserts nothing is no chunk.
	return slices.DeleteFunc(chunks, func(c readChunk) bool { return c.len == 0 && !a.ours[from] })
}

// transferred returns the bytes that operations of an end have moved between two messages, to or from the segments of a chunk:
// from their beginning, without gaps, each once.
func (a *audit) transferred(segs chunk, k kind, by end, after, before *event) []byte {
	data := make([]byte, segs.len())
	have := make([]bool, len(data))
	n := 0
	for i := range a.log {
		e := &a.log[i]
		if e.kind != k || e.end != by || a.used[e] {
			continue
		}
		length := max(len(e.data), e.asked)
		at, ok := segs.find(e.remote, length)
		if !ok || e.at < after.at {
			continue
		}
		a.used[e] = true
		if before != nil && max(e.at, e.ended) > before.at {
			a.fail("an operation of the %v on a chunk of transaction %x is not over when the message that ends it leaves", by, after.data[:4])
		}
		if len(e.data) < length {
			a.fail("a Read of the %v that has not come to its end", by)
			continue
		}
		n += copy(data[at:], e.data)
		for j := range length {
			if have[at+j] {
				a.fail("byte %d of a chunk is moved twice", at+j)
			}
			have[at+j] = true
		}
	}
	for i := range min(n, len(have)) {
		if !have[i] {
			a.fail("byte %d of a chunk is not moved, %d others are", i, n)
			break
		}
	}
	return data[:min(n, len(data))]
}

// find returns where in the chunk n bytes at a place of memory are: inside one segment.
func (c chunk) find(r transport.Remote, n int) (at int, ok bool) {
	for _, s := range c {
		if uint32(r.STag) == s.handle && r.Offset >= s.offset && r.Offset+uint64(n) <= s.offset+uint64(s.length) {
			return at + int(r.Offset-s.offset), true
		}
		at += int(s.length)
	}
	return 0, false
}

// returned checks a chunk of a reply against the one that was offered: the same segments, filled in order (draft section 3.6), the
// round-up only in what the length says (3.7).
func (a *audit) returned(offered, got chunk) {
	if !a.ours[server] {
		return
	}
	if len(got) != len(offered) {
		a.fail("%d segments returned of %d", len(got), len(offered))
		return
	}
	full := true
	for i, g := range got {
		o := offered[i]
		excess := uint32(0)
		if a.draft && got.len()%4 == 0 {
			excess = -o.length & 3
		}
		switch {
		case g.handle != o.handle || g.offset != o.offset:
			a.fail("segment %d returned is another one", i)
		case g.length > o.length+excess:
			a.fail("%d bytes returned of a segment of %d", g.length, o.length)
		case g.length > 0 && !full:
			a.fail("segment %d is used behind one that is not full", i)
		}
		full = g.length >= o.length
	}
}

// windows checks that what is offered is exposed with the rights that it takes, and not longer than it takes.
func (a *audit) windows() {
	for i := range a.log {
		e := &a.log[i]
		if e.kind != exposed || !a.ours[e.end] {
			continue
		}
		var ends *event
		for j := range a.log[i+1:] {
			l := &a.log[i+1+j]
			if l.kind == revoked && l.end == e.end && l.region == e.region || l.kind == sent && l.invalidates && l.end != e.end && l.invalidated == e.region.STag {
				ends = l
				break
			}
		}
		if ends == nil {
			a.fail("a window of the %v is not revoked", e.end)
		}
		users := 0
		for _, x := range a.exchanges {
			h, last := &x.callHeader, x.reply
			if e.end == server {
				h, last = &x.replyHeader, x.done
			}
			for _, s := range h.readSegments() {
				if transport.STag(s.handle) == e.region.STag {
					users++
					a.window(e, s, transport.RemoteRead)
				}
			}
			for _, s := range h.writeSegments() {
				if e.end == client && transport.STag(s.handle) == e.region.STag {
					users++
					a.window(e, s, transport.RemoteWrite)
				}
			}
			if users > 0 && last != nil && ends != nil && ends.at < last.at {
				a.fail("a window of the %v is revoked while it is used", e.end)
			}
			if users > 0 {
				break
			}
		}
		if users == 0 {
			a.fail("a window of the %v, of %d bytes, that nothing offers", e.end, e.region.Len)
		}
	}
}

func (a *audit) window(e *event, s segment, right transport.Access) {
	const rights = transport.RemoteRead | transport.RemoteWrite
	if e.access&rights != right {
		a.fail("a window of the %v is exposed for %b, want %b", e.end, e.access, right)
	}
	if s.offset < e.region.Base || s.offset+uint64(s.length) > e.region.Base+e.region.Len {
		a.fail("a segment of the %v is not inside its window", e.end)
	}
}

func (h *header) readSegments() (segs chunk) {
	for _, r := range h.reads {
		segs = append(segs, r.segment)
	}
	return segs
}

func (h *header) writeSegments() (segs chunk) {
	for _, c := range h.writes {
		segs = append(segs, c...)
	}
	return append(segs, h.reply...)
}

// credits checks that the client never has more under way than it was granted: calls without a reply, and RDMA_DONEs until the reply to
// a later call (draft section 3.8). A DONE with nothing else under way is always allowed.
func (a *audit) credits() {
	if !a.ours[client] {
		return
	}
	most, calls := uint32(1), 0
	var dones []int // when
	under := make(map[uint32]int)
	for i := range a.log {
		e := &a.log[i]
		if e.kind != sent {
			continue
		}
		h, _, err := parseHeader(e.data)
		switch {
		case err != nil:
		case e.end == server:
			most = max(most, h.credit)
			at := under[h.xid]
			dones = slices.DeleteFunc(dones, func(d int) bool { return d < at })
			calls--
		case h.proc == done:
			dones = append(dones, e.at)
		default:
			under[h.xid] = e.at
			calls++
		}
		if e.end == client && calls+len(dones) > int(most) && (h.proc != done || calls+len(dones) > 1) {
			a.fail("%d calls and %d RDMA_DONEs under way, with a grant of %d", calls, len(dones), most)
		}
	}
}
