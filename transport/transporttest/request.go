package transporttest

import (
	"math/rand/v2"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// send is a request to send what is in list.
func send(list ...transport.Slice) *transport.WorkRequest {
	return &transport.WorkRequest{Op: transport.OpSend, Local: list}
}

// write is a request to write what is in list to byte off of r.
func write(r transport.Region, off int, list ...transport.Slice) *transport.WorkRequest {
	return &transport.WorkRequest{Op: transport.OpWrite, Remote: at(r, int64(off)), Local: list}
}

// read is a request to fill list from byte off of r.
func read(r transport.Region, off int, list ...transport.Slice) *transport.WorkRequest {
	return &transport.WorkRequest{Op: transport.OpRead, Remote: at(r, int64(off)), Local: list}
}

// window is exposed memory: one Region or several.
type window []transport.Region

func (w window) len() int {
	n := 0
	for _, r := range w {
		n += int(r.Len)
	}
	return n
}

// requests returns the requests for a Write or Read between list and byte off of w, within the
// limits of e. If these permit, it is one.
func (e *end) requests(op transport.Op, w window, off int, list ...transport.Slice) (wrs []*transport.WorkRequest) {
	limits := e.Info()
	elements := limits.MaxSendSGE
	if op == transport.OpRead {
		elements = limits.MaxReadSGE
	}
	for _, r := range w {
		for len(list) > 0 && off < int(r.Len) {
			room := int(r.Len) - off
			if limits.MaxMessage > 0 {
				room = min(room, limits.MaxMessage)
			}
			wr := &transport.WorkRequest{Op: op, Remote: at(r, int64(off))}
			for len(list) > 0 && room > 0 && (elements == 0 || len(wr.Local) < elements) {
				n := min(room, list[0].Len())
				wr.Local = append(wr.Local, list[0].Sub(0, n))
				room -= n
				off += n
				if list[0] = list[0].Sub(n, list[0].Len()-n); list[0].Len() == 0 {
					list = list[1:]
				}
			}
			wrs = append(wrs, wr)
		}
		off = max(0, off-int(r.Len))
	}
	return wrs
}

// size returns the number of bytes that one request can carry and one Region can have, at most n.
func (p *pair) size(n int) int {
	for _, e := range []*end{p.a, p.b} {
		if limit := e.Info().MaxRegion; limit > 0 {
			n = min(n, limit)
		}
	}
	return p.message(n)
}

// message returns the number of bytes that one request can carry, at most n.
func (p *pair) message(n int) int {
	for _, e := range []*end{p.a, p.b} {
		if limit := e.Info().MaxMessage; limit > 0 {
			n = min(n, limit)
		}
	}
	return n
}

// exposable returns the number of bytes for which there are enough Regions, at most n.
func (p *pair) exposable(n int) int {
	for _, e := range []*end{p.a, p.b} {
		if i := e.Info(); i.MaxRegion > 0 && i.MaxRegions > 0 {
			n = min(n, i.MaxRegion*i.MaxRegions/4)
		}
	}
	return n
}

// scattered cuts s into pieces of the sizes given, as far as e has Regions for them.
func (e *end) scattered(s transport.Slice, sizes ...int) []transport.Slice {
	return splitUpTo(e.Info().MaxRegions/4, s, sizes...)
}

// splitUpTo is split into at most limit pieces, if limit is not 0. The last piece has the rest.
func splitUpTo(limit int, s transport.Slice, sizes ...int) []transport.Slice {
	list := split(s, sizes...)
	if limit == 0 || len(list) <= limit {
		return list
	}
	n := transport.TotalLen(list[:limit-1])
	return append(list[:limit-1], s.Sub(n, s.Len()-n))
}

// invalidate is a request to end a local window.
func invalidate(tag transport.STag) *transport.WorkRequest {
	return &transport.WorkRequest{Op: transport.OpInvalidate, Invalidate: tag}
}

// with adds flags to a request.
func with(f transport.Flags, wr *transport.WorkRequest) *transport.WorkRequest {
	wr.Flags |= f
	return wr
}

// at is byte off of r, which need not be inside.
func at(r transport.Region, off int64) transport.Remote {
	return transport.Remote{STag: r.STag, Offset: r.Base + uint64(off)}
}

// pattern returns n bytes that tell one seed from another, none of them zero.
func pattern(n int, seed uint64) []byte {
	p := make([]byte, n)
	rnd := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	rnd.Read(p)
	for i := range p {
		p[i] |= 1
	}
	return p
}

// split cuts s into pieces of the sizes given, over and over, empty ones included.
func split(s transport.Slice, sizes ...int) []transport.Slice {
	var list []transport.Slice
	for off := 0; off < s.Len(); {
		for _, n := range sizes {
			n = min(n, s.Len()-off)
			list = append(list, s.Sub(off, n))
			off += n
		}
	}
	return list
}

// flatten returns a copy of what is in list.
func flatten(list []transport.Slice) []byte {
	var p []byte
	for _, s := range list {
		p = append(p, s.Bytes...)
	}
	return p
}
