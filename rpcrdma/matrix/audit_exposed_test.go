package matrix

import "github.com/rpcrdma/go-rpcrdma/transport"

// windows checks that exposed memory is offered in a message, with only the rights that are needed,
// and only for as long as needed.
func (a *audit) windows() {
	for i := range a.log {
		e := &a.log[i]
		if e.kind != exposed || !a.ours[e.end] {
			continue
		}
		var ends *event
		for j := range a.log[i+1:] {
			l := &a.log[i+1+j]
			if l.kind == revoked && l.end == e.end && l.stag == e.region.STag || l.kind == sent && l.invalidates && l.end != e.end && l.invalidated == e.region.STag {
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
