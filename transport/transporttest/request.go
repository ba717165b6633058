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
