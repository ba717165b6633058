package rpcrdma_test

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// watch notes the buffers of the receives that a provider has been given.
type watch struct {
	mu   sync.Mutex           // guards what follows
	list [][]transport.Slice  // by receive
	seen map[*byte]watchPlace // by the first byte of each buffer
}

// watchPlace is one buffer of a receive.
type watchPlace struct {
	receive int // in watch.list
	buffer  int // which of its buffers: 0 or 1
}

func (w *watch) note(r *transport.RecvRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = make(map[*byte]watchPlace)
	}
	for i, s := range r.Local {
		w.seen[unsafe.SliceData(s.Bytes)] = watchPlace{len(w.list), i}
	}
	w.list = append(w.list, append([]transport.Slice(nil), r.Local...))
}

// check checks where items of these lengths lay that have come in one message: the first that was
// padded at the beginning of the second buffer of a receive of so many bytes, the others that were
// at multiples of align in the same buffer, and what precedes them in the first one.
func (w *watch) check(t *testing.T, what string, at []*byte, lengths []int, align, size int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(at) != len(lengths) {
		t.Fatalf("%s %v: %d items", what, lengths, len(at))
	}
	first := 0
	for lengths[first] < 1024 { // too short to be padded
		first++
	}
	place, ok := w.seen[at[first]]
	if !ok || place.buffer != 1 {
		t.Errorf("%s %v: item %d does not begin a second buffer", what, lengths, first)
		return
	}
	buffers := w.list[place.receive]
	if len(buffers) != 2 || buffers[0].Len() != align || buffers[1].Len() != size-align {
		t.Errorf("%s %v: in %d buffers of %d bytes, want %d and %d", what, lengths, len(buffers),
			transport.TotalLen(buffers), align, size-align)
		return
	}
	for i, p := range at {
		n, buffer := lengths[i], 0
		if i >= first {
			buffer = 1
		}
		begin, b := uintptr(unsafe.Pointer(p)), buffers[buffer].Bytes
		if off := int(begin) - int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))); off < 0 || off+n > len(b) {
			t.Errorf("%s %v: item %d lies %d bytes behind the beginning of buffer %d", what,
				lengths, i, off, buffer)
		}
		if off := begin % uintptr(align); n >= 1024 && off != 0 {
			t.Errorf("%s %v: item %d lies %d bytes behind a multiple of %d", what, lengths, i, off,
				align)
		}
	}
}

// watchedEnds is a rig and its client, where it is known at which addresses the receives of both
// are.
type watchedEnds struct {
	*rig
	client, peer       *rpcrdma.Conn
	atClient, atServer watch
}

// newWatchedEnds makes a connection on a provider. Its receives are promised only if shared is set.
func newWatchedEnds(t *testing.T, p provider, shared bool, cfg rpcrdma.Config) *watchedEnds {
	t.Helper()
	w := &watchedEnds{}
	l, d := p(t)
	l = transport.WrapListener(l, func(ep transport.Endpoint) transport.Endpoint {
		return watched(ep, shared, &w.atServer)
	})
	w.rig = serveRig(t, cfg, l, d, sameEndpoint)
	w.client = w.dialOn(cfg, func(ep transport.Endpoint) transport.Endpoint {
		return watched(ep, shared, &w.atClient)
	})
	t.Cleanup(func() {
		w.client.Close()
		wait(t, w.client.Done())
	})
	if err := client(w.client).Call(t.Context(), procNull, nil, nil); err != nil {
		t.Fatal(err)
	}
	w.peer = wait(t, w.program.conns)
	return w
}

func watched(ep transport.Endpoint, shared bool, w *watch) transport.Endpoint {
	if shared {
		return watchedPromises{ep, ep.(transport.SharedReceiver), ep.(transport.Abandoner), w}
	}
	return watchedReceives{ep, ep.(transport.Abandoner), w}
}

// watchedReceives is an endpoint that wants receives with their memory.
type watchedReceives struct {
	transport.Endpoint
	transport.Abandoner
	w *watch
}

// Domain has memory that is aligned by chance alone.
func (watchedReceives) Domain() transport.Domain { return crooked{} }

func (e watchedReceives) PostRecv(rs ...*transport.RecvRequest) error {
	for _, r := range rs {
		e.w.note(r)
	}
	return e.Endpoint.PostRecv(rs...)
}

// watchedPromises is an endpoint that asks for memory when a message comes.
type watchedPromises struct {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	w *watch
}

// Domain has memory that is aligned by chance alone.
func (watchedPromises) Domain() transport.Domain { return crooked{} }

func (e watchedPromises) ShareRecv(src transport.RecvSource) {
	e.SharedReceiver.ShareRecv(watchedSource{src, e.w})
}

type watchedSource struct {
	transport.RecvSource
	w *watch
}

func (s watchedSource) Receive() *transport.RecvRequest {
	r := s.RecvSource.Receive()
	if r != nil {
		s.w.note(r)
	}
	return r
}

// crooked is a Domain whose memory begins at odd multiples of 8 bytes. Memory from the heap would
// often be aligned.
type crooked struct{}

func (crooked) Alloc(n int, _ transport.Access) (transport.Slice, error) {
	b := make([]byte, 16+n)
	off := 8 ^ int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))&8)
	return transport.Slice{Bytes: b[off : off+n : off+n]}, nil
}

func (crooked) Free(transport.Slice) {}
func (crooked) Import(p []byte, _ transport.Access) (transport.Slice, error) {
	return transport.Slice{Bytes: p}, nil
}
func (crooked) Release(transport.Slice) {}
