package stag

import (
	"bytes"
	"errors"
	"math"
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

const (
	read       = transport.RemoteRead
	write      = transport.RemoteWrite
	invalidate = transport.RemoteInvalidate
)

// listOf wraps buffers as a scatter list.
func listOf(bufs ...[]byte) []transport.Slice {
	list := make([]transport.Slice, len(bufs))
	for i, b := range bufs {
		list[i].Bytes = b
	}
	return list
}

func expose(t *testing.T, tab *Table, access transport.Access, bufs ...[]byte) transport.Region {
	t.Helper()
	r, err := tab.Expose(listOf(bufs...), access)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got error %v, want %v", got, want)
	}
}

func TestCopies(t *testing.T) {
	tab := New(10, nil)
	a, b, c := make([]byte, 3), make([]byte, 0), make([]byte, 5)
	r := expose(t, tab, read|write, a, b, c)
	if r.Len != 8 || r.Base%pageSize != 0 {
		t.Errorf("region %+v: want length 8 and an aligned base", r)
	}
	if err := tab.Place(r.STag, r.Base+2, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := tab.Write(r.STag, r.Base+5, listOf([]byte("d"), nil, []byte("ef"))); err != nil {
		t.Fatal(err)
	}
	if got := string(a) + string(c); got != "\x00\x00abcdef" {
		t.Errorf("memory holds %q", got)
	}
	x, y := make([]byte, 1), make([]byte, 4)
	if err := tab.Read(listOf(x, nil, y), r.STag, r.Base+3); err != nil {
		t.Fatal(err)
	}
	if got := string(x) + string(y); got != "bcdef" {
		t.Errorf("read %q", got)
	}
}

func TestChecks(t *testing.T) {
	tab := New(10, nil)
	mem := bytes.Repeat([]byte{1}, 100)
	rw := expose(t, tab, read|write, mem)
	ro := expose(t, tab, read, mem)
	wo := expose(t, tab, write, mem)
	dead := expose(t, tab, read|write, mem)
	tab.Revoke(dead)

	for _, tt := range []struct {
		name string
		tag  transport.STag
		off  uint64
		n    int
		w, r error
	}{
		{"whole", rw.STag, rw.Base, 100, nil, nil},
		{"last byte", rw.STag, rw.Base + 99, 1, nil, nil},
		{"before", rw.STag, rw.Base - 1, 1, transport.ErrBounds, transport.ErrBounds},
		{"behind", rw.STag, rw.Base + 100, 1, transport.ErrBounds, transport.ErrBounds},
		{"across the end", rw.STag, rw.Base + 99, 2, transport.ErrBounds, transport.ErrBounds},
		{"longer", rw.STag, rw.Base, 101, transport.ErrBounds, transport.ErrBounds},
		{"offset 0", rw.STag, 0, 1, transport.ErrBounds, transport.ErrBounds},
		{"largest offset", rw.STag, math.MaxUint64, 1, transport.ErrBounds, transport.ErrBounds},
		{"offset wraps", rw.STag, math.MaxUint64 - 1, 50, transport.ErrBounds, transport.ErrBounds},
		{"read only", ro.STag, ro.Base, 1, transport.ErrAccess, nil},
		{"write only", wo.STag, wo.Base, 1, nil, transport.ErrAccess},
		{"access before bounds", ro.STag, ro.Base - 1, 1, transport.ErrAccess, transport.ErrBounds},
		{"tag 0", 0, 0, 1, transport.ErrSTag, transport.ErrSTag},
		{"other key", rw.STag ^ 1, rw.Base, 1, transport.ErrSTag, transport.ErrSTag},
		{"dead", dead.STag, dead.Base, 1, transport.ErrSTag, transport.ErrSTag},
		{"nothing to nobody", 12345, 67, 0, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := bytes.Repeat([]byte{2}, tt.n)
			clear(mem)
			err := tab.Place(tt.tag, tt.off, src)
			wantErr(t, err, tt.w)
			if err != nil && bytes.Count(mem, []byte{0}) != len(mem) {
				t.Error("refused, and yet placed")
			}
			err = tab.Read(listOf(src), tt.tag, tt.off)
			wantErr(t, err, tt.r)
			if err != nil && bytes.Count(src, []byte{2}) != len(src) {
				t.Error("refused, and yet read")
			}
		})
	}
}

func TestInvalidate(t *testing.T) {
	tab := New(10, nil)
	r := expose(t, tab, write|invalidate, make([]byte, 4))
	fixed := expose(t, tab, write, make([]byte, 4))
	wantErr(t, tab.Invalidate(fixed.STag), transport.ErrAccess)
	if err := tab.Place(fixed.STag, fixed.Base, []byte{1}); err != nil {
		t.Errorf("a refused invalidation took effect: %v", err)
	}
	if err := tab.Invalidate(r.STag); err != nil {
		t.Fatal(err)
	}
	wantErr(t, tab.Invalidate(r.STag), transport.ErrSTag)
	wantErr(t, tab.Place(r.STag, r.Base, []byte{1}), transport.ErrSTag)
	tab.Revoke(r, fixed, fixed)
	if tab.Live() != 0 {
		t.Errorf("%d tags alive, want 0", tab.Live())
	}
}

func TestAbandon(t *testing.T) {
	tab := New(10, nil)
	mem, neighbour := []byte("before"), make([]byte, 6)
	r := expose(t, tab, read|write, mem[:3], mem[3:])
	w := expose(t, tab, write, mem)
	n := expose(t, tab, read|write, neighbour)
	tab.Abandon(r)
	tab.Abandon(r)
	tab.Abandon(w)
	copy(mem, "BEHIND")
	for _, x := range []transport.Region{r, w, n} {
		if err := tab.Place(x.STag, x.Base, []byte("placed")); err != nil {
			t.Fatal(err)
		}
	}
	wantErr(t, tab.Place(r.STag, r.Base+1, []byte("placed")), transport.ErrBounds)
	got := make([]byte, 6)
	if err := tab.Read(listOf(got), r.STag, r.Base); err != nil {
		t.Fatal(err)
	}
	if string(got) != "before" || string(mem) != "BEHIND" || string(neighbour) != "placed" {
		t.Errorf("read %q, memory %q, neighbour %q", got, mem, neighbour)
	}
	tab.Revoke(r, w)
	wantErr(t, tab.Place(r.STag, r.Base, []byte{1}), transport.ErrSTag)
	tab.Abandon(r) // ended: passed over

	// The entries are like new.
	for range 2 {
		again := expose(t, tab, read|write, mem)
		if err := tab.Place(again.STag, again.Base, []byte("AGAIN!")); err != nil {
			t.Fatal(err)
		}
		if string(mem) != "AGAIN!" {
			t.Errorf("memory %q after reuse of the entry", mem)
		}
	}
}

func TestLimit(t *testing.T) {
	tab := New(2, nil)
	a := expose(t, tab, write, make([]byte, 1))
	expose(t, tab, write, make([]byte, 1))
	_, err := tab.Expose(nil, write)
	wantErr(t, err, transport.ErrNoMemory)
	tab.Revoke(a)
	expose(t, tab, write, make([]byte, 1))
}

func TestClose(t *testing.T) {
	tab := New(2, nil)
	a := expose(t, tab, write, make([]byte, 1))
	tab.Close()
	tab.Close()
	wantErr(t, tab.Place(a.STag, a.Base, []byte{1}), transport.ErrSTag)
	_, err := tab.Expose(nil, write)
	wantErr(t, err, net.ErrClosed)
	tab.Revoke(a)
	if tab.Live() != 0 {
		t.Errorf("%d tags alive, want 0", tab.Live())
	}
}

// TestReuse: tags do not recur while an entry goes through its keys. An old region does not revoke
// the window that has its tag now.
func TestReuse(t *testing.T) {
	tab := New(1, nil)
	first := expose(t, tab, write, make([]byte, 1))
	tab.Revoke(first)
	seen := map[transport.STag]bool{first.STag: true}
	for range 1<<keyBits - 1 {
		r := expose(t, tab, write, make([]byte, 1))
		if r.STag == 0 || seen[r.STag] {
			t.Fatalf("tag %#x recurs", r.STag)
		}
		seen[r.STag] = true
		tab.Revoke(r)
	}
	r := expose(t, tab, write, make([]byte, 1))
	if r.STag != first.STag {
		t.Fatalf("tag %#x, want the first one again, %#x", r.STag, first.STag)
	}
	tab.Revoke(first)
	tab.Abandon(first)
	if tab.Live() != 1 {
		t.Error("an old region revoked a new window")
	}
}

// TestWaits: Revoke and Abandon return only after all copies have ended. The race detector checks
// this.
func TestWaits(t *testing.T) {
	for name, end := range map[string]func(*Table, transport.Region){
		"revoke":  func(tab *Table, r transport.Region) { tab.Revoke(r) },
		"abandon": (*Table).Abandon,
		"close":   func(tab *Table, _ transport.Region) { tab.Close() },
		"invalidate": func(tab *Table, r transport.Region) {
			if err := tab.Invalidate(r.STag); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			tab := New(1, nil)
			mem, src := make([]byte, 1<<16), make([]byte, 1<<16)
			r := expose(t, tab, write|invalidate, mem)
			started, stop := make(chan struct{}), make(chan struct{})
			var placing sync.WaitGroup
			placing.Go(func() {
				for i := 0; ; i++ {
					tab.Place(r.STag, r.Base, src)
					if i == 0 {
						close(started)
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
			<-started
			end(tab, r)
			for i := range mem {
				mem[i] = 0xee
			}
			close(stop)
			placing.Wait()
			if bytes.Count(mem, []byte{0xee}) != len(mem) {
				t.Error("memory was touched")
			}
		})
	}
}

func TestAllocs(t *testing.T) {
	tab := New(10, nil)
	list := listOf(make([]byte, 10), make([]byte, 10))
	p := make([]byte, 20)
	n := testing.AllocsPerRun(1000, func() {
		r, _ := tab.Expose(list, read|write)
		tab.Place(r.STag, r.Base, p)
		tab.Read(list, r.STag, r.Base)
		tab.Revoke(r)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestEnd: End needs only the tag and no right, and ignores windows that have ended.
func TestEnd(t *testing.T) {
	tab := New(3, nil)
	mem := make([]byte, 4)
	kept := expose(t, tab, write, mem)
	for _, tt := range []struct {
		name   string
		access transport.Access
		before func(r transport.Region)
	}{
		{"alive", read, nil},
		{"revoked", read, func(r transport.Region) { tab.Revoke(r) }},
		{"invalidated", read | invalidate, func(r transport.Region) {
			if err := tab.Invalidate(r.STag); err != nil {
				t.Error(err)
			}
		}},
		{"ended", write, func(r transport.Region) { tab.End(r.STag) }},
		{"abandoned", write, func(r transport.Region) { tab.Abandon(r) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := expose(t, tab, tt.access, make([]byte, 4))
			if tt.before != nil {
				tt.before(r)
			}
			tab.End(r.STag)
			wantErr(t, tab.Check(r.STag, tt.access, r.Base, 1), transport.ErrSTag)
			if got := tab.Live(); got != 1 {
				t.Errorf("%d tags alive, want 1", got)
			}
		})
	}
	tab.End(0)
	tab.End(kept.STag ^ 1)
	if err := tab.Place(kept.STag, kept.Base, []byte("kept")); err != nil || string(mem) != "kept" {
		t.Errorf("a window that was not ended: %q, %v", mem, err)
	}
}
