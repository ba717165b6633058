package matrix

import (
	"encoding/binary"
	"fmt"
)

// stream rebuilds the XDR stream of a message from its inline part and its chunks. It knows the
// types of the messages, and so where the data of each item belongs.
type stream struct {
	inline  []byte // not taken yet
	at      int    // offset of the inline part in the Send; alignment counts from here
	reads   []readChunk
	results []writeChunk // in order; each bulk item takes the next one
	draft   bool
	ours    bool // the sender runs our code, which must meet stricter rules

	padded        bool
	align, thresh int

	whole   []byte // the stream so far, round-up included
	padding int
	err     error
}

// readChunk is all segments with one position.
type readChunk struct {
	position int
	len      int    // of the segments
	data     []byte // that was read
}

// writeChunk is a write chunk, as offered and as returned.
type writeChunk struct {
	offered, returned chunk
	data              []byte // that was written
}

func (s *stream) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("at byte %d of the stream: "+format, append([]any{len(s.whole)}, args...)...)
	}
}

// take takes bytes from the inline part.
func (s *stream) take(n int) []byte {
	if len(s.inline) < n {
		s.fail("%d bytes inline, want %d", len(s.inline), n)
	}
	if s.err != nil {
		return make([]byte, n)
	}
	p := s.inline[:n]
	s.inline = s.inline[n:]
	s.at += n
	return p
}

func (s *stream) word() uint32 {
	if len(s.reads) > 0 && s.reads[0].position < len(s.whole)+4 {
		s.fail("a read chunk for position %d", s.reads[0].position)
	}
	p := s.take(4)
	s.whole = append(s.whole, p...)
	return binary.BigEndian.Uint32(p)
}

func (s *stream) want(what string, want uint32) {
	if v := s.word(); v != want {
		s.fail("%s is %#x, want %#x", what, v, want)
	}
}

// opaque takes variable-length opaque data.
func (s *stream) opaque(bulk bool) {
	n := int(s.word())
	if n > 1<<26 || s.err != nil {
		s.fail("opaque data of %d bytes", n)
		return
	}
	var p []byte
	switch {
	case bulk && s.written(n, &p):
	case len(s.reads) > 0 && s.reads[0].position == len(s.whole):
		p = s.read(n)
	default:
		p = s.sent(n)
	}
	s.whole = append(s.whole, p...)
	s.whole = append(s.whole, make([]byte, -n&3)...)
}

// written takes n bytes from the next write chunk, if it was used.
func (s *stream) written(n int, p *[]byte) bool {
	if len(s.results) == 0 {
		return false
	}
	r := s.results[0]
	s.results = s.results[1:]
	switch total := r.returned.len(); {
	case total == 0 && n > 0 && len(r.offered) > 0 && s.ours && (!s.draft || n <= r.offered.len()):
		s.fail("a write chunk of %d bytes is not used for %d", r.offered.len(), n)
		return true
	case total == 0:
		if len(r.data) > 0 {
			s.fail("%d bytes written to a chunk that is returned empty", len(r.data))
		}
		return n == 0 && len(r.offered) > 0
	case total != n && total != n+-n&3:
		s.fail("a write chunk of %d bytes is returned for %d", total, n)
	case s.ours && !s.draft && total != n:
		s.fail("the returned length of a write chunk, %d, includes the round-up", total)
	case s.ours && s.draft && total != n+-n&3:
		s.fail("the returned length of a write chunk, %d, does not include the round-up", total)
	case len(r.data) != n:
		s.fail("%d bytes written of %d", len(r.data), n)
	}
	*p = r.data
	return true
}

// read takes n bytes from the next read chunk.
func (s *stream) read(n int) []byte {
	r := s.reads[0]
	s.reads = s.reads[1:]
	switch {
	case r.len != n && r.len != n+-n&3:
		s.fail("a read chunk of %d bytes for %d", r.len, n)
	case s.ours && r.len != n:
		s.fail("a read chunk of %d bytes includes the round-up", r.len)
	case len(r.data) != n && len(r.data) != r.len:
		// It does not matter whether offered round-up is read.
		s.fail("%d bytes read of %d", len(r.data), n)
	}
	// The round-up (draft section 3.7).
	if k := -n & 3; k > 0 && len(s.reads) > 0 && s.reads[0].position == len(s.whole)+n && s.reads[0].len == k {
		if s.reads = s.reads[1:]; s.ours {
			s.fail("a read chunk for the round-up alone")
		}
	}
	return r.data[:min(n, len(r.data))]
}

// sent takes n inline bytes, after any padding (draft section 3.9).
func (s *stream) sent(n int) []byte {
	if s.padded && n >= s.thresh {
		if n == s.thresh && s.ours {
			s.fail("data of the length of the threshold")
		}
		k := -s.at & (s.align - 1)
		for _, b := range s.take(k) {
			if b != 0 && s.ours {
				s.fail("padding that is not zero")
			}
		}
		s.padding += k
	}
	p := s.take(n)
	for _, b := range s.take(-n & 3) {
		if b != 0 {
			s.fail("round-up that is not zero")
		}
	}
	return p
}

// call takes a call and returns its transaction id and procedure (RFC 5531 section 9).
func (s *stream) call() (xid, proc uint32) {
	xid = s.word()
	s.want("message type", 0)
	s.want("RPC version", 2)
	s.want("program", Program)
	s.want("program version", Version)
	proc = s.word()
	s.want("flavor", 0)
	s.opaque(false)
	s.want("flavor", 0)
	s.opaque(false)
	if proc != 0 {
		s.items()
	}
	s.end()
	return xid, proc
}

// garbageArgs is GARBAGE_ARGS.
const garbageArgs = 4

// reply takes a reply to a procedure and returns its transaction id and accept_stat.
func (s *stream) reply(proc uint32) (xid, stat uint32) {
	xid = s.word()
	s.want("message type", 1)
	s.want("reply_stat", 0)
	s.want("flavor", 0)
	s.opaque(false)
	switch stat = s.word(); {
	case stat == 0 && proc != 0:
		s.items()
	case stat != 0 && stat != garbageArgs:
		s.fail("accept_stat is %d", stat)
	}
	s.end()
	return xid, stat
}

func (s *stream) items() {
	for n := s.word(); n > 0 && s.err == nil; n-- {
		switch m := s.word(); m {
		case BulkMark, TextMark:
			s.opaque(m == BulkMark)
		default:
			s.fail("item marked %#x", m)
		}
	}
	s.want("last word", Tail)
}

// end checks that nothing is left.
func (s *stream) end() {
	if len(s.inline) > 0 {
		s.fail("%d bytes behind the message", len(s.inline))
	}
	if len(s.reads) > 0 {
		s.fail("a read chunk behind the message, at %d", s.reads[0].position)
	}
	for _, r := range s.results {
		if r.returned.len() > 0 || len(r.data) > 0 {
			s.fail("a write chunk for no result: %d bytes returned, %d written", r.returned.len(), len(r.data))
		}
	}
}

// callBytes returns the whole stream of a call.
func callBytes(xid, proc uint32, args []Item) []byte {
	b := be32(xid, 0, 2, Program, Version, proc, 0, 0, 0, 0)
	if proc == 0 {
		return b
	}
	return appendItems(b, args, ArgSeed)
}

// replyBytes returns the whole stream of a reply.
func replyBytes(xid, proc uint32, results []Item) []byte {
	b := be32(xid, 1, 0, 0, 0, 0)
	if proc == 0 {
		return b
	}
	return appendItems(b, results, ResultSeed)
}

func appendItems(b []byte, items []Item, seed int) []byte {
	b = append(b, be32(uint32(len(items)))...)
	for i, it := range items {
		mark := uint32(BulkMark)
		if it.Text {
			mark = TextMark
		}
		b = append(b, be32(mark, uint32(it.Len))...)
		b = append(b, Data(seed, i, it.Len)...)
		b = append(b, make([]byte, -it.Len&3)...)
	}
	return append(b, be32(Tail)...)
}

func be32(words ...uint32) (b []byte) {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}
