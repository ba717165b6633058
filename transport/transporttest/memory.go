package transporttest

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var memoryTests = []pairTest{
	{"memory/domain", Options{}, memoryDomain},
	{"memory/access", Options{}, memoryAccess},
	{"memory/import", Options{}, memoryImport},
	{"memory/windows", Options{}, memoryWindows},
	{"memory/windows come and go", Options{}, memoryChurn},
}

func memoryDomain(p *pair) {
	p.start()
	var bufs []transport.Slice
	for i, n := range []int{0, 1, 4096, 4097, 1 << 20} {
		s := p.b.alloc(n)
		copy(s.Bytes, pattern(n, uint64(i)))
		bufs = append(bufs, s)
	}
	for i, s := range bufs {
		wantBytes(p.t, "allocated memory", s.Bytes, pattern(s.Len(), uint64(i)))
	}
}

// Memory allocated for one kind of access can be used for that.
func memoryAccess(p *pair) {
	p.start()
	alloc := func(e *end, access transport.Access) transport.Slice {
		return e.allocFor(256, access)
	}
	want := pattern(256, 1)
	source, back, inbox := alloc(p.a, 0), alloc(p.a, transport.LocalWrite), alloc(p.b, transport.LocalWrite)
	read, written := alloc(p.b, transport.RemoteRead), alloc(p.b, transport.RemoteWrite)
	copy(source.Bytes, want)
	copy(read.Bytes, want)
	if err := p.b.inbox.post(p.b, &transport.RecvRequest{Local: []transport.Slice{inbox}}); err != nil {
		p.t.Fatal(err)
	}
	p.a.transfer(transport.OpRead, p.b.window(transport.RemoteRead, read), 0, back)
	p.a.transfer(transport.OpWrite, p.b.window(transport.RemoteWrite, written), 0, source)
	p.a.do(send(source))
	wantBytes(p.t, "message", p.b.next().data, want)
	wantBytes(p.t, "what was read", back.Bytes, want)
	wantBytes(p.t, "what was written", written.Bytes, want)
	p.alive()
}

// Imported memory works for everything that memory of the Domain does.
func memoryImport(p *pair) {
	imA, okA := p.a.Domain().(transport.Importer)
	imB, okB := p.b.Domain().(transport.Importer)
	if !okA || !okB {
		p.t.Skip("the provider cannot import")
	}
	p.start()
	get := func(im transport.Importer, mem []byte, access transport.Access) transport.Slice {
		s, err := im.Import(mem, access)
		if err != nil || s.Len() != len(mem) {
			p.t.Fatalf("Import of %d bytes: %d bytes, %v", len(mem), s.Len(), err)
		}
		return s
	}
	size := p.size(5000)
	want := pattern(size, 1)
	// Each has just the access that it needs.
	source := get(imA, pattern(size, 1), 0)
	back := get(imA, make([]byte, size), transport.LocalWrite)
	mem := get(imB, make([]byte, size), rw)
	inbox := get(imB, make([]byte, size), transport.LocalWrite)
	region := p.b.expose(rw, mem)
	if err := p.b.inbox.post(p.b, &transport.RecvRequest{Local: []transport.Slice{inbox}}); err != nil {
		p.t.Fatal(err)
	}
	p.a.do(write(region, 0, source))
	p.a.do(read(region, 0, back))
	p.a.do(send(source))
	wantBytes(p.t, "message", p.b.next().data, want)
	wantBytes(p.t, "memory", mem.Bytes, want)
	wantBytes(p.t, "what was read", back.Bytes, want)
	p.b.Revoke(region)
	imA.Release(source)
	imA.Release(back)
	imB.Release(mem)
	imB.Release(inbox)
	p.alive()
}

// Windows over the same memory are independent of each other.
func memoryWindows(p *pair) {
	p.start()
	mem := p.b.hold(pattern(100, 1))
	r, w := p.b.expose(transport.RemoteRead, mem), p.b.expose(transport.RemoteWrite, mem)
	if r.STag == w.STag {
		p.t.Fatal("two windows have one tag")
	}
	p.a.do(write(w, 10, p.a.hold(pattern(10, 2))))
	got := p.a.alloc(100)
	p.a.do(read(r, 0, got))
	want := pattern(100, 1)
	copy(want[10:], pattern(10, 2))
	wantBytes(p.t, "what was read", got.Bytes, want)
	p.b.Revoke(w, w) // twice in one call
	p.b.Revoke(w)
	p.a.do(read(r, 0, got))
	p.alive()
}

// Many goroutines make and end windows while the peer uses one of them. No two live windows have
// the same tag.
func memoryChurn(p *pair) {
	p.start()
	var mu sync.Mutex
	live := make(map[transport.STag]bool)
	mem := p.b.alloc(64)
	var churn sync.WaitGroup
	for range 4 {
		churn.Go(func() {
			for i := range 40 * rounds {
				rs := make([]transport.Region, 1+i%3)
				for j := range rs {
					one, err := p.b.Expose(rs[:j], []transport.Slice{mem}, rw)
					if err != nil || len(one) != j+1 {
						p.t.Errorf("Expose: %d windows, %v", len(one)-j, err)
						return
					}
					mu.Lock()
					if live[rs[j].STag] {
						p.t.Errorf("tag %#x given out twice", rs[j].STag)
					}
					live[rs[j].STag] = true
					mu.Unlock()
				}
				mu.Lock()
				for _, r := range rs {
					delete(live, r.STag)
				}
				mu.Unlock()
				if err := p.b.Revoke(rs...); err != nil {
					p.t.Errorf("Revoke: %v", err)
				}
			}
		})
	}
	used := p.b.alloc(64)
	window := p.b.expose(rw, used)
	back := p.a.alloc(64)
	for i := range 20 * rounds {
		want := p.a.hold(pattern(64, uint64(i)))
		p.a.do(write(window, 0, want))
		p.a.do(read(window, 0, back))
		wantBytes(p.t, "what was read back", back.Bytes, want.Bytes)
	}
	waitAll(p.t, "windows", &churn)
}
