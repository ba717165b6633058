package stag

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// holder is a simple sender: it refers to the memory of windows until it has sent, or until it must
// copy the memory.
type holder struct {
	tab *Table

	mu   sync.Mutex // guards the fields below; taken before an entry's lock
	held []hold
}

type hold struct {
	pin  Pin
	refs []transport.Slice
}

// newHolder returns a table with a holder as its detach hook.
func newHolder(limit int) *holder {
	h := new(holder)
	h.tab = New(limit, h.detach)
	return h
}

// pin begins to refer to the bytes.
func (h *holder) pin(tag transport.STag, off, n uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	refs, p, err := h.tab.Pin(nil, tag, off, n)
	if err == nil {
		h.held = append(h.held, hold{p, refs})
	}
	return err
}

// detach is the detach hook.
func (h *holder) detach(tag transport.STag) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.detachLocked(tag)
}

// end ends a window, as a sender does while it works.
func (h *holder) end(tag transport.STag) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tab.EndDetached(tag, h.detachLocked)
}

// detachLocked is detach; h.mu is held.
func (h *holder) detachLocked(tag transport.STag) {
	for i := range h.held {
		d := &h.held[i]
		if d.pin.e == nil || d.pin.Tag() != tag {
			continue
		}
		d.refs = listOf(gather(d.refs))
		h.tab.Unpin(d.pin)
		d.pin = Pin{}
	}
}

// send returns the bytes of all pins, in order, and unpins them.
func (h *holder) send() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	var sent []byte
	for _, d := range h.held {
		sent = append(sent, gather(d.refs)...)
		if d.pin.e != nil {
			h.tab.Unpin(d.pin)
		}
	}
	h.held = nil
	return sent
}

func gather(list []transport.Slice) (all []byte) {
	for _, s := range list {
		all = append(all, s.Bytes...)
	}
	return all
}

func TestPin(t *testing.T) {
	h := newHolder(10)
	ro := expose(t, h.tab, read, []byte("abc"), nil, []byte("d"), []byte("efgh"))
	wo := expose(t, h.tab, write, []byte("abc"))
	old := expose(t, h.tab, read, []byte("abc"))
	h.tab.Revoke(old)
	for _, tt := range []struct {
		name   string
		region transport.Region
		off, n uint64
		want   []string
		err    error
	}{
		{"whole", ro, 0, 8, []string{"abc", "d", "efgh"}, nil},
		{"front", ro, 0, 2, []string{"ab"}, nil},
		{"one slice exactly", ro, 0, 3, []string{"abc"}, nil},
		{"over an empty one", ro, 2, 2, []string{"c", "d"}, nil},
		{"begins behind an empty one", ro, 3, 1, []string{"d"}, nil},
		{"back", ro, 5, 3, []string{"fgh"}, nil},
		{"last byte", ro, 7, 1, []string{"h"}, nil},
		{"nothing", ro, 3, 0, nil, nil},
		{"nothing at the end", ro, 8, 0, nil, nil},
		{"beyond the end", ro, 7, 2, nil, transport.ErrBounds},
		{"before the beginning", ro, ^uint64(0), 1, nil, transport.ErrBounds},
		{"offset and length wrap", ro, 1, ^uint64(0), nil, transport.ErrBounds},
		{"no access", wo, 0, 1, nil, transport.ErrAccess},
		{"revoked", old, 0, 1, nil, transport.ErrSTag},
		{"nobody's tag", transport.Region{}, 0, 1, nil, transport.ErrSTag},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := listOf([]byte("before"))
			list, p, err := h.tab.Pin(before, tt.region.STag, tt.region.Base+tt.off, tt.n)
			wantErr(t, err, tt.err)
			var got []string
			for _, s := range list[1:] {
				got = append(got, string(s.Bytes))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			if p.Tag() != tt.region.STag {
				t.Errorf("got tag %#x, want %#x", p.Tag(), tt.region.STag)
			}
			h.tab.Unpin(p)
		})
	}
}

// TestPinRefers: pinned memory is the window's own, not a copy.
func TestPinRefers(t *testing.T) {
	h := newHolder(1)
	mem := []byte("before")
	r := expose(t, h.tab, read, mem)
	if err := h.pin(r.STag, r.Base, r.Len); err != nil {
		t.Fatal(err)
	}
	copy(mem, "behind")
	if got := h.send(); string(got) != "behind" {
		t.Errorf("sent %q", got)
	}
}

// TestDetach: every end of a window with pins calls the hook, and no other end does. Data sent
// later is unchanged.
func TestDetach(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*Table, transport.Region)
		dead bool
	}{
		{"revoke", func(tab *Table, r transport.Region) { tab.Revoke(r) }, true},
		{"abandon", (*Table).Abandon, false},
		{"abandon, revoke", func(tab *Table, r transport.Region) { tab.Abandon(r); tab.Revoke(r) }, true},
		{"close", func(tab *Table, _ transport.Region) { tab.Close() }, true},
		{"invalidate", func(tab *Table, r transport.Region) { tab.Invalidate(r.STag) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var detached []transport.STag
			h := newHolder(3)
			h.tab.detach = func(tag transport.STag) {
				detached = append(detached, tag)
				h.detach(tag)
			}
			mem := []byte("before")
			never := expose(t, h.tab, read|invalidate, mem)
			other := expose(t, h.tab, read|invalidate, []byte("other"))
			r := expose(t, h.tab, read|invalidate, mem)
			for _, p := range []transport.Region{other, r, other, r} {
				if err := h.pin(p.STag, p.Base+1, 3); err != nil {
					t.Fatal(err)
				}
			}
			h.detach(other.STag) // leaves pins of r alone
			tt.end(h.tab, never)
			tt.end(h.tab, r)
			if diff := cmp.Diff([]transport.STag{r.STag}, detached); diff != "" {
				t.Errorf("detached (-want +got):\n%s", diff)
			}
			clear(mem)
			err := h.pin(r.STag, r.Base, 2)
			var want error
			sent := "the" + "efo" + "the" + "efo"
			if tt.dead {
				want = transport.ErrSTag
			} else {
				sent += "be"
			}
			wantErr(t, err, want)
			if got := h.send(); string(got) != sent {
				t.Errorf("sent %q, want %q", got, sent)
			}
		})
	}
}

// TestDuringDetach: while the hook runs, the peer cannot use the tag any more, unless the tag is to
// survive.
func TestDuringDetach(t *testing.T) {
	for name, end := range map[string]func(*Table, transport.Region){
		"revoke":     func(tab *Table, r transport.Region) { tab.Revoke(r) },
		"close":      func(tab *Table, _ transport.Region) { tab.Close() },
		"invalidate": func(tab *Table, r transport.Region) { tab.Invalidate(r.STag) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(1)
			mem := []byte("memory")
			r := expose(t, h.tab, read|write|invalidate, mem)
			h.pin(r.STag, r.Base, 1)
			called := false
			h.tab.detach = func(tag transport.STag) {
				called = true
				for what, err := range map[string]error{
					"pin":        h.pin(tag, r.Base, 1),
					"place":      h.tab.Place(tag, r.Base, []byte("x")),
					"read":       h.tab.Read(listOf(make([]byte, 1)), tag, r.Base),
					"check":      h.tab.Check(tag, read, r.Base, 1),
					"invalidate": h.tab.Invalidate(tag),
				} {
					if err != transport.ErrSTag {
						t.Errorf("%s: got error %v, want %v", what, err, transport.ErrSTag)
					}
				}
				h.detach(tag)
			}
			end(h.tab, r)
			if !called {
				t.Error("the hook was not called")
			}
			if string(mem) != "memory" {
				t.Errorf("memory holds %q", mem)
			}
		})
	}
}

// TestPinDuringAbandon: a pin made while Abandon detaches others is detached too.
func TestPinDuringAbandon(t *testing.T) {
	h := newHolder(1)
	mem := []byte("abc")
	r := expose(t, h.tab, read, mem)
	h.pin(r.STag, r.Base, 1)
	late := 3
	h.tab.detach = func(tag transport.STag) {
		h.detach(tag)
		if late--; late > 0 {
			if err := h.pin(tag, r.Base, 3); err != nil {
				t.Error(err)
			}
		}
	}
	h.tab.Abandon(r)
	clear(mem)
	if got := h.send(); string(got) != "aabcabc" {
		t.Errorf("sent %q", got)
	}
}

// TestEndDuringAbandon: while Abandon runs the hook, the peer invalidates the window, and even a
// new window takes its place.
func TestEndDuringAbandon(t *testing.T) {
	h := newHolder(1)
	mem, next := []byte("abc"), []byte("next")
	r := expose(t, h.tab, read|invalidate, mem)
	h.pin(r.STag, r.Base, 1)
	var fresh transport.Region
	h.tab.detach = func(tag transport.STag) {
		h.tab.detach = h.detach
		wantErr(t, h.tab.Invalidate(tag), nil)
		fresh = expose(t, h.tab, read, next)
		if err := h.pin(fresh.STag, fresh.Base, 4); err != nil {
			t.Error(err)
		}
	}
	h.tab.Abandon(r)
	copy(next, "NEXT")
	got := make([]byte, 4)
	if err := h.tab.Read(listOf(got), fresh.STag, fresh.Base); err != nil || string(got) != "NEXT" {
		t.Errorf("the new window shows %q, %v: it was abandoned", got, err)
	}
	if got := h.send(); string(got) != "aNEXT" {
		t.Errorf("sent %q", got)
	}
}

func TestCheck(t *testing.T) {
	tab := New(10, nil)
	r := expose(t, tab, read, make([]byte, 10))
	for _, tt := range []struct {
		name   string
		tag    transport.STag
		need   transport.Access
		off, n uint64
		want   error
	}{
		{"whole", r.STag, read, 0, 10, nil},
		{"too long", r.STag, read, 0, 11, transport.ErrBounds},
		{"too far", r.STag, read, 10, 1, transport.ErrBounds},
		{"wraps", r.STag, read, 1, ^uint64(0), transport.ErrBounds},
		{"access", r.STag, write, 0, 10, transport.ErrAccess},
		{"tag", r.STag + 1, read, 0, 10, transport.ErrSTag},
		{"nothing", 0, write, 100, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantErr(t, tab.Check(tt.tag, tt.need, r.Base+tt.off, tt.n), tt.want)
		})
	}
}

// TestEndsWait: two concurrent ends of one window both wait for the hook.
func TestEndsWait(t *testing.T) {
	revoke := func(tab *Table, r transport.Region) { tab.Revoke(r) }
	for _, tt := range []struct {
		name          string
		first, second func(*Table, transport.Region)
	}{
		{"revoke, revoke", revoke, revoke},
		{"revoke, abandon", revoke, (*Table).Abandon},
		{"revoke, close", revoke, func(tab *Table, _ transport.Region) { tab.Close() }},
		{"invalidate, revoke", func(tab *Table, r transport.Region) { tab.Invalidate(r.STag) }, revoke},
		{"close, revoke", func(tab *Table, _ transport.Region) { tab.Close() }, revoke},
		{"abandon, revoke", (*Table).Abandon, revoke},
		{"abandon, abandon", (*Table).Abandon, (*Table).Abandon},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHolder(1)
			mem := bytes.Repeat([]byte("m"), 1000)
			r := expose(t, h.tab, read|invalidate, mem)
			h.pin(r.STag, r.Base, r.Len)

			began, goOn := make(chan struct{}), make(chan struct{})
			var once sync.Once
			h.tab.detach = func(tag transport.STag) {
				once.Do(func() { close(began) })
				<-goOn
				h.detach(tag)
			}
			var ends sync.WaitGroup
			ends.Go(func() { tt.first(h.tab, r) })
			<-began
			returned := make(chan struct{})
			ends.Go(func() {
				tt.second(h.tab, r)
				// If this came before the copy, the race detector would find it, too.
				for i := range mem {
					mem[i] = '!'
				}
				close(returned)
			})
			for range 100 {
				select {
				case <-returned:
					t.Fatal("the second returned while the memory was referred to")
				default:
					h.mu.Lock() // somebody else's turn
					h.mu.Unlock()
				}
			}
			close(goOn)
			ends.Wait()
			if got := h.send(); bytes.Count(got, []byte("m")) != len(mem) {
				t.Errorf("memory was referred to when the second returned: %q", slices.Compact(got))
			}
		})
	}
}
