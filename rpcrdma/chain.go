package rpcrdma

import (
	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// chain is a list of work requests that are posted together, with their scatter lists.
type chain struct {
	info  *transport.Info // the limits of the connection
	most  int             // the most bytes of a Read or Write; 0: no limit
	wrs   []transport.WorkRequest
	list  []*transport.WorkRequest
	local []transport.Slice

	// Of Reads that the readGate has; its mutex guards these.
	unposted []*transport.WorkRequest // those in list that have not been posted
	waiting  list.Place[chain]
}

// begins empties the chain and makes room for n requests. There may be more.
func (ch *chain) begins(n int, info *transport.Info) {
	ch.info, ch.most, ch.local, ch.list = info, info.MaxMessage, ch.local[:0], ch.list[:0]
	if cap(ch.wrs) < n {
		ch.wrs = make([]transport.WorkRequest, 0, n)
	}
	ch.wrs = ch.wrs[:0]
}

// add adds a Read or Write of n bytes of a segment, with the memory at cur. The limits of the
// connection may split it into several. Each has the given Context.
func (ch *chain) add(op transport.Op, s *chunks.Segment, n int, cur *cursor,
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

// addInvalidate adds the local invalidation of a tag.
func (ch *chain) addInvalidate(tag transport.STag, done transport.Completer) {
	ch.wrs = append(ch.wrs, transport.WorkRequest{
		Op: transport.OpInvalidate, Invalidate: tag, Done: done, Context: notLast,
	})
}

// addReads adds RDMA Reads of the first n bytes of segments into dst.
func (ch *chain) addReads(segments []chunks.ReadSegment, n int, dst []transport.Slice,
	done transport.Completer) {
	cur := cursor{list: dst}
	for i := range segments {
		s := &segments[i].Segment
		m := min(n, int(s.Length))
		if m == 0 {
			continue
		}
		n -= m
		ch.add(transport.OpRead, s, m, &cur, done, notLast)
	}
}

// bulk returns how many bytes the Writes have, or 0 if they are too few to count as bulk data.
func (ch *chain) bulk() (n int) {
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

// isLast reports whether a request is the last of its kind in the chain.
func isLast(wr *transport.WorkRequest) bool { return wr.Context == nil }

// all returns the requests as arguments for Post.
func (ch *chain) all() []*transport.WorkRequest {
	for i := range ch.wrs {
		ch.list = append(ch.list, &ch.wrs[i])
	}
	return ch.list
}

// cleared returns the chain emptied, with its storage for reuse.
func (ch *chain) cleared() chain {
	clear(ch.wrs)
	clear(ch.local)
	return chain{wrs: ch.wrs[:0], list: ch.list[:0], local: ch.local[:0]}
}

// cursor is a place in a scatter list.
type cursor struct {
	list []transport.Slice
	off  int // offset in the first slice
}
