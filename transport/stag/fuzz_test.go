package stag

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// model is a simple model of a window.
type model struct {
	region    transport.Region
	access    transport.Access
	mem       []byte   // a copy of what the window should show
	bufs      [][]byte // the user's memory behind it
	dead      bool
	abandoned bool
	frozen    []byte // the user's memory when the window was cut loose from it
}

func (m *model) check(need transport.Access, off, n int) error {
	switch {
	case n == 0:
		return nil
	case m.dead:
		return transport.ErrSTag
	case m.access&need == 0:
		return transport.ErrAccess
	case off < 0 || off+n > len(m.mem):
		return transport.ErrBounds
	}
	return nil
}

// FuzzTable runs operations from its input on a table and on models of its windows.
func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 3, 5, 0, 3, 7, 1, 0, 2, 4, 2, 0, 1, 3, 3, 0, 1, 0, 0, 1})
	f.Add([]byte{0, 7, 9, 5, 0, 1, 0, 0, 4, 2, 0, 0, 9, 3, 0, 0, 7, 3, 4, 0})
	f.Add([]byte{0, 6, 1, 4, 0, 4, 0, 0, 2, 2, 3, 0, 1, 0, 0})
	// Pins, and a Revoke.
	f.Add([]byte{0, 7, 9, 8, 1, 0, 6, 9, 6, 0, 4, 8, 6, 0, 5, 2, 3, 0, 7, 0, 8, 0, 1, 4, 9})
	// Pins, Abandon, and an Invalidate.
	f.Add([]byte{0, 7, 9, 8, 1, 0, 6, 9, 6, 0, 4, 8, 5, 0, 6, 0, 5, 2, 1, 0, 4, 9, 4, 0, 7, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		h := newHolder(8)
		tab := h.tab
		var windows []*model
		var pinned []func() []byte // data to be sent
		live := func() (n int) {
			for _, m := range windows {
				if !m.dead {
					n++
				}
			}
			return n
		}
		next := func() int {
			if len(in) == 0 {
				return 0
			}
			b := in[0]
			in = in[1:]
			return int(b)
		}
		fill := byte(0)
		for steps := 0; len(in) > 0 && steps < 500; steps++ {
			op := next() % 9
			if op == 0 {
				m := &model{access: transport.Access(next() % 8)}
				n := next() % 40
				for rest := n; rest > 0; {
					k := min(rest, next()%16+1)
					m.bufs = append(m.bufs, make([]byte, k))
					rest -= k
				}
				m.mem = make([]byte, n)
				var want error
				if m.access&(transport.RemoteRead|transport.RemoteWrite) == 0 {
					want = transport.ErrWorkRequest
				} else if live() == 8 {
					want = transport.ErrNoMemory
				}
				var list []transport.Slice
				for _, b := range m.bufs {
					list = append(list, transport.Slice{Bytes: b})
				}
				var err error
				m.region, err = tab.Expose(list, m.access)
				if !errors.Is(err, want) {
					t.Fatalf("Expose for %#x, %d alive: %v, want %v", m.access, live(), err, want)
				}
				clear(list) // not the table's
				if err == nil {
					windows = append(windows, m)
				}
				continue
			}
			if len(windows) == 0 {
				continue
			}
			m := windows[next()%len(windows)]
			r := m.region
			switch op {
			case 1, 2:
				off, n := next()%48-4, next()%48
				fill++
				p := bytes.Repeat([]byte{fill}, n)
				if op == 1 {
					want := m.check(transport.RemoteWrite, off, n)
					wantErr(t, tab.Place(r.STag, r.Base+uint64(off), p), want)
					if want == nil && !m.abandoned && n > 0 {
						copy(m.mem[off:], p)
					}
					break
				}
				want := m.check(transport.RemoteRead, off, n)
				cut := n / 3
				list := []transport.Slice{{Bytes: p[:cut]}, {Bytes: p[cut:]}}
				wantErr(t, tab.Read(list, r.STag, r.Base+uint64(off)), want)
				expect := bytes.Repeat([]byte{fill}, n)
				if want == nil && n > 0 {
					copy(expect, m.mem[off:off+n])
				}
				if !bytes.Equal(p, expect) {
					t.Fatalf("read %x, want %x", p, expect)
				}
			case 3:
				tab.Revoke(r)
				m.end()
			case 4:
				var want error
				switch {
				case m.dead:
					want = transport.ErrSTag
				case m.access&transport.RemoteInvalidate == 0:
					want = transport.ErrAccess
				}
				wantErr(t, tab.Invalidate(r.STag), want)
				if want == nil {
					m.end()
				}
			case 5:
				tab.Abandon(r)
				if !m.dead && !m.abandoned {
					m.abandoned = true
					m.scribble()
				}
			case 6:
				off, n := next()%48-4, next()%48+1
				want := m.check(transport.RemoteRead, off, n)
				wantErr(t, h.pin(r.STag, r.Base+uint64(off), uint64(n)), want)
				if want == nil {
					pinned = append(pinned, func() []byte { return m.mem[off : off+n] })
				}
			case 7:
				var want []byte
				for _, p := range pinned {
					want = append(want, p()...)
				}
				pinned = nil
				if got := h.send(); !bytes.Equal(got, want) {
					t.Fatalf("sent %x, want %x", got, want)
				}
			case 8:
				need, off, n := transport.Access(1<<(next()%3)), next()%48-4, next()%48
				wantErr(t, tab.Check(r.STag, need, r.Base+uint64(off), uint64(n)), m.check(need, off, n))
			}
			for _, m := range windows {
				want := m.mem
				if m.frozen != nil {
					want = m.frozen
				}
				if got := slices.Concat(m.bufs...); !bytes.Equal(got, want) {
					t.Fatalf("memory of window %#x is %x, want %x", m.region.STag, got, want)
				}
			}
			if tab.Live() != live() {
				t.Fatalf("%d tags alive, want %d", tab.Live(), live())
			}
		}
	})
}

// end ends the window.
func (m *model) end() {
	if !m.dead {
		m.dead = true
		m.scribble()
	}
}

// scribble overwrites the memory, as its owner may once the window has ended.
func (m *model) scribble() {
	for _, b := range m.bufs {
		for i := range b {
			b[i] ^= 0x5a
		}
	}
	m.frozen = slices.Concat(m.bufs...)
	if m.frozen == nil {
		m.frozen = []byte{}
	}
}
