package nfsfs

import (
	"slices"
	"sort"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// wrote records that the server has n bytes at off, which are in b.mem[at:]. They replace what was
// there before. mu is held.
func (u *unstable) wrote(off int64, b *buffer, at, n int, verf nfs3.Verifier) {
	b.refs++ // before cut, which may drop the last reference
	i := u.cut(off, off+int64(n))
	if i > 0 {
		s := u.spans[i-1]
		if s.end() == off && s.b == b && s.at+s.n == at && s.verf == verf && s.epoch == u.epoch {
			s.n += n
			u.unref(b)
			return
		}
	}
	u.insert(i, span{off, b, at, n, verf, u.epoch})
}

// insert inserts a span. It takes over the reference to the buffer.
func (u *unstable) insert(i int, s span) {
	var p *span
	if n := len(u.spare); n > 0 {
		p, u.spare = u.spare[n-1], u.spare[:n-1]
	} else {
		p = new(span)
	}
	*p = s
	u.spans = slices.Insert(u.spans, i, p)
}

// cut removes the bytes [from, to) from the spans. It returns the index of the first span after
// from. mu is held.
func (u *unstable) cut(from, to int64) int {
	i := sort.Search(len(u.spans), func(i int) bool { return u.spans[i].end() > from })
	if i < len(u.spans) && u.spans[i].off < from {
		s := u.spans[i]
		left, end := int(from-s.off), s.end()
		if end > to { // a hole in the middle
			skip := int(to - s.off)
			s.b.refs++
			u.insert(i+1, span{to, s.b, s.at + skip, s.n - skip, s.verf, s.epoch})
		}
		s.n = left
		i++
	}
	j := i
	for j < len(u.spans) && u.spans[j].end() <= to {
		u.free(u.spans[j])
		j++
	}
	if j < len(u.spans) && u.spans[j].off < to {
		s := u.spans[j]
		skip := int(to - s.off)
		s.off, s.at, s.n = to, s.at+skip, s.n-skip
	}
	u.spans = slices.Delete(u.spans, i, j)
	return i
}

// free recycles a span that was removed from spans.
func (u *unstable) free(s *span) {
	u.unref(s.b)
	*s = span{}
	if len(u.spare) < maxSpans {
		u.spare = append(u.spare, s)
	}
}

// settle frees the spans that a COMMIT has made durable. These are the spans up to epoch sent,
// whose WRITEs were answered before the COMMIT was sent, if they have its verifier. It reports
// whether any with another verifier were lost. mu is held.
func (u *unstable) settle(sent uint64, verf nfs3.Verifier) (lost bool) {
	kept := u.spans[:0]
	for _, s := range u.spans {
		switch {
		case s.epoch > sent:
			kept = append(kept, s)
		case s.verf == verf:
			u.free(s)
		default:
			lost = true
			kept = append(kept, s)
		}
	}
	clear(u.spans[len(kept):])
	u.spans = kept
	return lost
}
