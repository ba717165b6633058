package post

import (
	"slices"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Chain is a list of work requests that are posted together, with their scatter lists.
type Chain struct {
	info  *transport.Info // the limits of the connection
	most  int             // the most bytes of a Read or Write; 0: no limit
	wrs   []transport.WorkRequest
	list  []*transport.WorkRequest
	local []transport.Slice

	// Of Reads that a ReadGate has; its mutex guards these.
	unposted []*transport.WorkRequest // those in list that have not been posted
	waiting  list.Place[Chain]
}

// Begin empties the chain and makes room for n requests. There may be more.
func (ch *Chain) Begin(n int, info *transport.Info) {
	ch.info, ch.most, ch.local, ch.list = info, info.MaxMessage, ch.local[:0], ch.list[:0]
	if cap(ch.wrs) < n {
		ch.wrs = make([]transport.WorkRequest, 0, n)
	}
	ch.wrs = ch.wrs[:0]
}

// add adds Reads or Writes of n bytes of a segment, with the memory at cur. The limits of the
// connection may split it into several. Each has the given Context.
func (ch *Chain) add(op transport.Op, s *chunks.Segment, n int, cur *cursor,
	done transport.Completer, context any) {
	elements := ch.info.MaxSendSGE
	if op == transport.OpRead {
		elements = ch.info.MaxReadSGE
	}
	for off := s.Offset; n > 0; {
		first, most := len(ch.local), n
		if ch.most > 0 {
			most = min(n, ch.most)
		}
		left := most
		for left > 0 && (elements == 0 || len(ch.local)-first < elements) {
			l := cur.list[0]
			m := min(left, l.Len()-cur.off)
			if m > 0 {
				ch.local = append(ch.local, l.Sub(cur.off, m))
			}
			cur.off += m
			left -= m
			if cur.off == l.Len() {
				cur.list, cur.off = cur.list[1:], 0
			}
		}
		ch.wrs = append(ch.wrs, transport.WorkRequest{
			Op:      op,
			Remote:  transport.Remote{STag: transport.STag(s.Handle), Offset: off},
			Local:   ch.local[first:len(ch.local):len(ch.local)],
			Done:    done,
			Context: context,
		})
		off += uint64(most - left)
		n -= most - left
	}
}

// cursor is a place in a scatter list.
type cursor struct {
	list []transport.Slice
	off  int // offset in the first slice
}

// AddReads adds RDMA Reads of the first n bytes of segments into dst.
func (ch *Chain) AddReads(segments []chunks.ReadSegment, n int, dst []transport.Slice,
	done transport.Completer) {
	cur := cursor{list: dst}
	for i := range segments {
		s := &segments[i].Segment
		m := min(n, int(s.Length))
		n -= m
		ch.add(transport.OpRead, s, m, &cur, done, notLast)
	}
}

// AddWrites adds RDMA Writes that fill segments from src.
func (ch *Chain) AddWrites(segments []chunks.Segment, src []transport.Slice,
	done transport.Completer) {
	cur := cursor{list: src}
	for i := range segments {
		s := &segments[i]
		ch.add(transport.OpWrite, s, int(s.Length), &cur, done, nil)
	}
}

// AddSend adds a Send, signaled, of list.
func (ch *Chain) AddSend(list []transport.Slice, done transport.Completer) *transport.WorkRequest {
	ch.wrs = append(ch.wrs, transport.WorkRequest{
		Op: transport.OpSend, Flags: transport.Signaled, Local: list, Done: done,
	})
	return &ch.wrs[len(ch.wrs)-1]
}

// AddInvalidates adds the local invalidation of regions, except for the tags in ended. Only the
// last one is signaled, and has a Context of nil. AddInvalidates reports false if there is none.
func (ch *Chain) AddInvalidates(regions []transport.Region, ended []transport.STag,
	done transport.Completer) bool {
	for _, r := range regions {
		if !slices.Contains(ended, r.STag) {
			ch.wrs = append(ch.wrs, transport.WorkRequest{
				Op: transport.OpInvalidate, Invalidate: r.STag, Done: done, Context: notLast,
			})
		}
	}
	if len(ch.wrs) == 0 {
		return false
	}
	last := &ch.wrs[len(ch.wrs)-1]
	last.Flags, last.Context = transport.Signaled, nil
	return true
}

// Bulk returns how many bytes the Writes have, or 0 if they are too few to count as bulk data.
func (ch *Chain) Bulk() (n int) {
	for i := range ch.wrs {
		if wr := &ch.wrs[i]; wr.Op == transport.OpWrite {
			n += transport.TotalLen(wr.Local)
		}
	}
	if n < bulkFrom {
		return 0
	}
	return n
}

// bulkFrom is from how many bytes of Writes a reply counts as bulk data. Smaller ones need no
// pacing: the 64 replies that may be under way by default have no more bytes than a large one.
const bulkFrom = 16 << 10

// notLast is the Context of a request that is followed by others of its kind.
var notLast any = "not last"

// IsLast reports whether a request is the last of its kind in the chain.
func IsLast(wr *transport.WorkRequest) bool { return wr.Context == nil }

// All returns the requests as arguments for Post.
func (ch *Chain) All() []*transport.WorkRequest {
	for i := range ch.wrs {
		ch.list = append(ch.list, &ch.wrs[i])
	}
	return ch.list
}

// Cleared returns the chain emptied, with its storage for reuse.
func (ch *Chain) Cleared() Chain {
	clear(ch.wrs)
	clear(ch.local)
	return Chain{wrs: ch.wrs[:0], list: ch.list[:0], local: ch.local[:0]}
}
