package matrix

import (
	"errors"
	"fmt"
)

// exchange is a call and everything that resulted from it.
type exchange struct {
	call, reply             *event
	done                    *event
	callHeader, replyHeader header
	callBody, replyBody     []byte

	proc             uint32
	args, results    []byte // the whole call and reply
	callErr          error
	stat             uint32 // accept_stat
	sawCall, sawBack string // in the notation of Want
}

// audit checks the traffic between the two ends of a connection.
type audit struct {
	draft   bool
	ours    [2]bool // whether the end runs our code, or is played by hand
	limit   [2]int  // the longest Send of an end, in bytes
	segment [2]int  // the longest segment made by an end
	refuses bool    // the client refuses the first reply and reads none of it
	garbage bool    // the first reply is malformed
	above   bool    // only data above the threshold is padded

	log       []event
	exchanges []*exchange
	used      map[*event]bool // Reads and Writes that belong to an exchange
	errs      []error
}

func (a *audit) fail(format string, args ...any) {
	a.errs = append(a.errs, fmt.Errorf(format, args...))
}

// run goes through the log and collects errors in errs.
func (a *audit) run(log []event) error {
	a.log, a.used = log, make(map[*event]bool)
	a.sends()
	for _, x := range a.exchanges {
		a.checkCall(x)
		if x.reply != nil {
			a.checkReply(x)
		}
		a.checkDone(x)
		// What is refused need not be read.
		if x.callErr != nil && x.replyHeader.proc != fault && x.stat != garbageArgs {
			a.fail("call: %w", x.callErr)
		}
	}
	a.windows()
	a.credits()
	for i := range log {
		e := &log[i]
		if e.kind != read && e.kind != wrote {
			continue
		}
		if !a.used[e] {
			a.fail("an operation of the %v on memory that nothing has offered: tag %#x, offset %#x", e.end, e.remote.STag, e.remote.Offset)
		}
		if a.ours[e.end] && max(len(e.data), e.asked) == 0 {
			a.fail("an operation of the %v that moves nothing", e.end)
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

// checkCall rebuilds a call and checks it.
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
		s.long()
	}
	xid, proc := s.call()
	if xid != h.xid {
		s.fail("XID %#x, in the header %#x", xid, h.xid)
	}
	x.proc, x.args, x.callErr = proc, s.whole, s.err
	x.sawCall = h.describe(len(x.call.data), s.padding)
}

// checkReply rebuilds a reply and checks it against what the call offered.
func (a *audit) checkReply(x *exchange) {
	offer, h := &x.callHeader, &x.replyHeader
	x.sawBack = h.describe(len(x.reply.data), 0)
	if h.proc == fault {
		a.free(x) // written data no longer matters
		return
	}
	a.checkHeader("reply", server, h)
	if len(h.writes) != len(offer.writes) && (a.ours[server] || len(h.writes) > 0) {
		if !a.refuses || x != a.exchanges[0] {
			a.fail("reply: %d write chunks returned of %d", len(h.writes), len(offer.writes))
		}
		a.free(x)
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
	if a.refuses && x == a.exchanges[0] {
		for _, c := range s.reads {
			if len(c.data) > 0 {
				a.fail("reply: %d bytes are read of what is refused", len(c.data))
			}
		}
		a.free(x)
		return
	}
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
		s.long()
	case h.proc == nomsg:
		s.inline = data
	}
	var xid uint32
	if xid, x.stat = s.reply(x.proc); xid != h.xid {
		s.fail("XID %#x, in the header %#x", xid, h.xid)
	}
	if s.err != nil && (!a.garbage || x != a.exchanges[0]) {
		a.fail("reply: %w", s.err)
	}
	x.results = s.whole
	x.sawBack = h.describe(len(x.reply.data), s.padding)
}

// free marks the operations on the chunks of a failed exchange. It does not matter how far they
// got.
func (a *audit) free(x *exchange) {
	var all chunk
	for _, h := range []*header{&x.callHeader, &x.replyHeader} {
		all = append(append(all, h.readSegments()...), h.writeSegments()...)
	}
	for i := range a.log {
		e := &a.log[i]
		if _, ok := all.find(e.remote, max(len(e.data), e.asked)); ok && (e.kind == read || e.kind == wrote) && e.at > x.call.at {
			a.used[e] = true
		}
	}
}

// checkDone checks that each reply with a read list has one DONE, after all of its Reads.
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

// stream begins to rebuild a message.
func (a *audit) stream(e *event, h *header, body []byte) stream {
	s := stream{inline: body, at: len(e.data) - len(body), draft: a.draft, ours: a.ours[e.end]}
	if h.proc == msgp {
		s.padded, s.align, s.thresh = h.align > 0, int(h.align), int(h.thresh)
		if a.above {
			s.thresh++
		}
	}
	return s
}

// long uses the chunk at position zero in place of the inline part.
func (s *stream) long() {
	c := s.reads[0]
	if s.inline, s.reads = c.data, s.reads[1:]; len(c.data) != c.len {
		s.fail("%d bytes read of %d", len(c.data), c.len)
	}
}
