package xdr_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// split removes the bulk items of a message from its stream, as a transport does before it moves
// them by RDMA.
func split(m *xdr.Message) (inline []byte, chunks []xdr.Chunk) {
	for _, it := range m.Bulk {
		chunks = append(chunks, xdr.Chunk{Position: it.Position, Len: it.Len, Data: bytes.Join(it.Data, nil)})
	}
	return m.Inline, chunks
}

// An item decodes the same in the stream or as a chunk, with a position or without, with its
// round-up or without, arrived or not.
func TestChunks(t *testing.T) {
	sizes := []int{5, 8, 0, 3}
	data := make([][]byte, len(sizes))
	var e xdr.Encoder
	for i, n := range sizes {
		data[i] = bytes.Repeat([]byte{byte(i + 1)}, n)
		e.Uint32(uint32(i))
		e.BulkBytes(data[i], nil)
	}
	e.Uint64(99)
	m := e.Message()
	for _, rounded := range []bool{false, true} {
		for _, floating := range []bool{false, true} {
			for _, lazy := range []bool{false, true} {
				for mask := range 1 << len(sizes) {
					var src source
					var without []bool
					var chunks []xdr.Chunk
					_, all := split(&m)
					for i, c := range all {
						beside := mask>>i&1 == 1
						if floating { // the first ones: these have no positions
							beside = i < mask && mask <= len(sizes)
						}
						without = append(without, beside)
						if !beside {
							continue
						}
						if floating {
							c.Position = xdr.Floating
						}
						if rounded {
							c.Len = xdr.RoundUp(c.Len)
							c.Data = append(c.Data, make([]byte, xdr.PadLen(len(c.Data)))...)
						}
						if lazy {
							c.ID = len(src.chunks)
							src.chunks = append(src.chunks, c.Data)
							c.Data, c.Source = nil, &src
						}
						chunks = append(chunks, c)
					}
					inline := bytes.Join(m.AppendPieces(nil, without), nil)
					var d xdr.Decoder
					d.Reset(inline, chunks)
					for i := range sizes {
						if got := d.Uint32(); got != uint32(i) {
							t.Fatalf("%v: got %d, want %d: %v", without, got, i, d.Err())
						}
						b := d.Bulk(9)
						if b.Ready() == (lazy && without[i]) {
							t.Errorf("%v: item %d ready: %v", without, i, b.Ready())
						}
						if got, err := b.Bytes(t.Context()); err != nil || !bytes.Equal(got, data[i]) || b.Len() != len(data[i]) {
							t.Errorf("%v: item %d: got %x, %v, want %x", without, i, got, err, data[i])
						}
					}
					if got := d.Uint64(); got != 99 || d.Finish() != nil || d.Position() != m.Len() {
						t.Errorf("%v: got %d at byte %d, %v", without, got, d.Position(), d.Finish())
					}
				}
			}
		}
	}
}

// Chunks of a peer that do not fit its stream are errors.
func TestChunkErrors(t *testing.T) {
	// A word, bulk data of 5 bytes, a word.
	const inline = "00000001 00000005 00000002"
	five := []byte("hello")
	decode := func(d *xdr.Decoder) {
		d.Uint32()
		d.Bulk(9)
		d.Uint32()
	}
	at := func(position, n int) []xdr.Chunk {
		return []xdr.Chunk{{Position: position, Len: n, Data: append(five, make([]byte, 20)...)[:n]}}
	}
	for _, tt := range []struct {
		name   string
		inline string
		chunks []xdr.Chunk
		want   error
	}{
		{"right", inline, at(8, 5), nil},
		{"right, with round-up", inline, at(8, 8), nil},
		{"floating", inline, at(xdr.Floating, 5), nil},
		{"floating and one left over that is empty", inline, append(at(xdr.Floating, 5), at(xdr.Floating, 0)...), nil},
		{"shorter", inline, at(8, 4), xdr.ErrChunk},
		{"longer", inline, at(8, 6), xdr.ErrChunk},
		{"longer by another round-up", inline, at(8, 12), xdr.ErrChunk},
		{"empty", inline, at(8, 0), xdr.ErrChunk},
		{"floating, shorter", inline, at(xdr.Floating, 3), xdr.ErrChunk},
		{"less data than it says", inline, []xdr.Chunk{{Position: 8, Len: 5, Data: five[:4]}}, xdr.ErrChunk},
		{"inside the first word", inline, at(1, 5), xdr.ErrChunk},
		{"in place of the first word", inline, at(0, 5), xdr.ErrChunk},
		{"in place of the length", inline, at(4, 5), xdr.ErrChunk},
		{"inside the length", inline, at(6, 5), xdr.ErrChunk},
		{"inside the data", inline, at(9, 5), xdr.ErrShort}, // the data is looked for in the stream
		{"inside the data, which is in the stream", "00000001 00000005 68656c6c6f000000 00000002", at(9, 5), xdr.ErrChunk},
		{"at the last word", "00000001 00000005 68656c6c6f000000 00000002", at(16, 5), xdr.ErrChunk},
		{"behind the last word", "00000001 00000005 68656c6c6f000000 00000002", at(20, 5), xdr.ErrChunk},
		{"floating, and the data in the stream", "00000001 00000005 68656c6c6f000000 00000002", at(xdr.Floating, 5), xdr.ErrTrailing},
		{"two at one place", inline, append(at(8, 5), at(8, 5)...), xdr.ErrChunk},
		{"one more, floating", inline, append(at(8, 5), at(xdr.Floating, 5)...), xdr.ErrChunk},
		{"one more with a position, empty", inline, append(at(8, 5), at(20, 0)...), xdr.ErrChunk},
		{"over the limit", "00000001 0000000a 00000002", at(8, 10), xdr.ErrLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d xdr.Decoder
			d.Reset(unhex(t, tt.inline), tt.chunks)
			decode(&d)
			if err := d.Finish(); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// Data of a type that may not travel as a chunk must be in the stream.
func TestChunkForOtherItem(t *testing.T) {
	for name, decode := range map[string]func(*xdr.Decoder){
		"opaque": func(d *xdr.Decoder) { d.Opaque(9) },
		"string": func(d *xdr.Decoder) { _ = d.String(9) },
	} {
		var d xdr.Decoder
		d.Reset(unhex(t, "00000005 00000000 00000000"), []xdr.Chunk{{Position: 4, Len: 5, Data: []byte("hello")}})
		decode(&d)
		if !errors.Is(d.Err(), xdr.ErrChunk) {
			t.Errorf("%s: got %v, want ErrChunk", name, d.Err())
		}
	}
}

// source is bulk data that has not arrived.
type source struct {
	chunks  [][]byte
	fetched int
	loaded  int
	taken   releases
	err     error
}

func (s *source) Fetch(_ context.Context, id, n int, dst [][]byte, w xdr.BulkWatcher) error {
	s.fetched++
	rest := s.chunks[id][:n]
	arrive(rest, w)
	for _, p := range dst {
		rest = rest[copy(p, rest):]
	}
	return s.err
}

func (s *source) Load(_ context.Context, id, n int, take bool, w xdr.BulkWatcher) ([]byte,
	xdr.Releaser, error) {
	s.loaded++
	arrive(s.chunks[id][:n], w)
	if take {
		return s.chunks[id][:n], &s.taken, s.err
	}
	return s.chunks[id][:n], nil, s.err
}

// arrive shows a watcher the data in two pieces.
func arrive(p []byte, w xdr.BulkWatcher) {
	if w != nil {
		w.Arrived(p[:len(p)/2])
		w.Arrived(p[len(p)/2:])
	}
}

// here returns bulk data in the stream, and lazy the same data not yet arrived.
func here(p []byte) xdr.Bulk {
	var e xdr.Encoder
	e.Opaque(p, math.MaxInt32)
	return xdr.NewDecoder(e.Message().Inline).Bulk(math.MaxInt32)
}

func lazy(p []byte) (xdr.Bulk, *source) {
	src := &source{chunks: [][]byte{nil, p}}
	var e xdr.Encoder
	e.Uint32(uint32(len(p)))
	var d xdr.Decoder
	d.Reset(e.Message().Inline, []xdr.Chunk{{Position: 4, Len: len(p), Source: src, ID: 1}})
	return d.Bulk(math.MaxInt32), src
}

func TestBulkFetchInto(t *testing.T) {
	want := []byte("hello, world")
	for split := range len(want) + 1 {
		lb, src := lazy(want)
		for _, b := range []xdr.Bulk{here(want), lb} {
			p := make([]byte, len(want)+3)
			if err := b.FetchInto(t.Context(), [][]byte{p[:split], nil, p[split:len(want)], {}}); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(p, append(want[:len(want):len(want)], 0, 0, 0)) {
				t.Errorf("split at %d: got %q", split, p)
			}
		}
		if src.fetched != 1 || src.loaded != 0 {
			t.Errorf("fetched %d times, loaded %d times", src.fetched, src.loaded)
		}
	}
	if err := here(want).FetchInto(t.Context(), [][]byte{make([]byte, 5), make([]byte, 6)}); !errors.Is(err, xdr.ErrLimit) {
		t.Errorf("into too little: got %v, want ErrLimit", err)
	}
	b, src := lazy(want)
	src.err = errors.New("connection lost")
	if err := b.FetchInto(t.Context(), [][]byte{make([]byte, 20)}); err != src.err {
		t.Errorf("got %v, want %v", err, src.err)
	}
	b, src = lazy(nil)
	if err := b.FetchInto(t.Context(), nil); err != nil || src.fetched != 0 {
		t.Errorf("nothing: got %v, fetched %d times", err, src.fetched)
	}
}

func TestBulkBytesAndTake(t *testing.T) {
	want := []byte("hello, world")
	b := here(want)
	got, err := b.Bytes(t.Context())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	taken, rel, err := b.Take(t.Context())
	if err != nil || !bytes.Equal(taken, want) || rel == nil {
		t.Fatalf("got %q, %v", taken, err)
	}
	clear(got) // the message's memory is used again
	if !bytes.Equal(taken, want) {
		t.Error("what was taken does not outlive the message")
	}
	rel.Release()

	b, src := lazy(want)
	if got, err := b.Bytes(t.Context()); err != nil || &got[0] != &want[0] || len(got) != len(want) {
		t.Errorf("got %q, %v", got, err)
	}
	taken, rel, err = b.Take(t.Context())
	if err != nil || !bytes.Equal(taken, want) || src.taken != 0 {
		t.Fatalf("got %q, %v, %d releases", taken, err, src.taken)
	}
	if rel.Release(); src.taken != 1 || src.loaded != 2 {
		t.Errorf("%d releases, loaded %d times", src.taken, src.loaded)
	}
	src.err = errors.New("connection lost")
	if _, err := b.Bytes(t.Context()); err != src.err {
		t.Errorf("Bytes: got %v, want %v", err, src.err)
	}
	if _, _, err := b.Take(t.Context()); err != src.err {
		t.Errorf("Take: got %v, want %v", err, src.err)
	}

	b, src = lazy(nil)
	got, err = b.Bytes(t.Context())
	taken, rel, err2 := b.Take(t.Context())
	if len(got)+len(taken) != 0 || err != nil || err2 != nil || rel == nil || src.loaded != 0 {
		t.Errorf("nothing: %q, %v, %q, %v, loaded %d times", got, err, taken, err2, src.loaded)
	}
}

// CopyTo does not move data that already landed in its place.
func TestBulkCopyTo(t *testing.T) {
	landing := []byte("hello")
	var d xdr.Decoder
	d.Reset(unhex(t, "00000005"), []xdr.Chunk{{Position: xdr.Floating, Len: 5, Data: landing}})
	b := d.Bulk(5)
	if n := b.CopyTo(landing); n != 5 || string(landing) != "hello" {
		t.Errorf("in place: %d bytes, %q", n, landing)
	}
	if n := b.CopyTo(landing[:3]); n != 3 {
		t.Errorf("in place, less room: %d bytes", n)
	}
	if n := b.CopyTo(landing[:3:3]); n != 3 {
		t.Errorf("in place, less room: %d bytes", n)
	}
	elsewhere := make([]byte, 8)
	if n := b.CopyTo(elsewhere); n != 5 || string(elsewhere[:5]) != "hello" {
		t.Errorf("elsewhere: %d bytes, %q", n, elsewhere)
	}
	if n := b.CopyTo(nil); n != 0 {
		t.Errorf("nowhere: %d bytes", n)
	}
	if n := here(nil).CopyTo(elsewhere); n != 0 {
		t.Errorf("nothing: %d bytes", n)
	}
}

// BulkInto puts the data of a result into the caller's buffer, wherever it came from, and touches
// nothing after it.
func TestBulkInto(t *testing.T) {
	const word, round = "00000005", "68656c6c6f000000"
	for _, room := range []int{5, 6, 8} {
		buf := []byte("............")
		p := buf[:room] // its capacity is more
		check := func(name string, d *xdr.Decoder) {
			t.Helper()
			got := d.BulkInto(p)
			if string(got) != "hello" || &got[0] != &p[0] || d.Finish() != nil || d.Position() != 12 {
				t.Errorf("%s, room %d: %q at byte %d, %v", name, room, got, d.Position(), d.Finish())
			}
			if rest := string(buf[5:]); rest != "......." {
				t.Errorf("%s, room %d: behind the data is %q", name, room, rest)
			}
			copy(buf, "............")
		}
		check("in the stream", xdr.NewDecoder(unhex(t, word+round)))

		var d xdr.Decoder
		elsewhere := []xdr.Chunk{{Position: 4, Len: 8, Data: []byte("hello\x00\x00\x00")}}
		d.Reset(unhex(t, word), elsewhere)
		check("beside the stream", &d)

		copy(buf, "hello") // by RDMA Write
		d.Reset(unhex(t, word), []xdr.Chunk{{Position: xdr.Floating, Len: 5, Data: p[:5]}})
		check("there already", &d)

		src := &source{chunks: [][]byte{[]byte("hello\x00\x00\x00")}}
		d.Reset(unhex(t, word), []xdr.Chunk{{Position: 4, Len: 8, Source: src}})
		check("not here yet", &d)
		if src.fetched != 1 || src.loaded != 0 {
			t.Errorf("fetched %d times, loaded %d times", src.fetched, src.loaded)
		}
	}
}

func TestBulkIntoNothing(t *testing.T) {
	for _, p := range [][]byte{nil, {}, make([]byte, 3)} {
		d := xdr.NewDecoder(unhex(t, "00000000"))
		if got := d.BulkInto(p); len(got) != 0 || cap(got) != cap(p) || d.Finish() != nil {
			t.Errorf("into %d bytes: %q, %v", len(p), got, d.Finish())
		}
	}
}

// A failed fetch is the decoder's error.
func TestBulkIntoFetchFails(t *testing.T) {
	src := &source{chunks: [][]byte{[]byte("hello")}, err: errors.New("connection lost")}
	var d xdr.Decoder
	d.Reset(unhex(t, "00000005"), []xdr.Chunk{{Position: 4, Len: 5, Source: src}})
	if got := d.BulkInto(make([]byte, 9)); len(got) != 0 || !errors.Is(d.Finish(), src.err) {
		t.Errorf("%q, %v, want %v", got, d.Finish(), src.err)
	}
}

// First does not fetch the rest.
func TestBulkFirst(t *testing.T) {
	for _, tt := range []struct {
		n    int
		want string
	}{
		{-1, ""}, {0, ""}, {1, "b"}, {4, "bulk"}, {9, "bulk data"}, {10, "bulk data"}, {math.MaxInt, "bulk data"},
	} {
		later, _ := lazy([]byte("bulk data"))
		for what, b := range map[string]xdr.Bulk{"here": here([]byte("bulk data")), "lazy": later} {
			b = b.First(tt.n)
			got := make([]byte, len(tt.want))
			if err := b.FetchInto(t.Context(), [][]byte{got}); err != nil || b.Len() != len(tt.want) || string(got) != tt.want {
				t.Errorf("%s, first %d: %d bytes, %q, %v; want %q", what, tt.n, b.Len(), got, err, tt.want)
			}
			if p, err := b.Bytes(t.Context()); err != nil || string(p) != tt.want {
				t.Errorf("%s, first %d: Bytes: %q, %v; want %q", what, tt.n, p, err, tt.want)
			}
		}
	}
}

// watcher is a BulkWatcher that keeps what it sees.
type watcher struct {
	arrived string
	n       int
	err     error // of Fetched
}

func (w *watcher) Arrived(p []byte) { w.arrived += string(p) }

func (w *watcher) Fetched(n int, err error) error {
	w.n += n
	return cmp.Or(err, w.err)
}

// A watcher sees what is fetched and nothing else, and can keep it from being handed out.
func TestWatch(t *testing.T) {
	far := &source{chunks: [][]byte{[]byte("away")}}
	chunk := func(position int, from xdr.BulkSource) xdr.Chunk {
		if from == nil {
			return xdr.Chunk{Position: position, Len: 4, Data: []byte("here")}
		}
		return xdr.Chunk{Position: position, Len: 4, Source: from}
	}
	for _, tt := range []struct {
		name   string
		chunks []xdr.Chunk
		want   string
	}{
		{"to be fetched", []xdr.Chunk{chunk(4, far)}, "away"},
		{"of any place", []xdr.Chunk{chunk(xdr.Floating, far)}, "away"},
		{"here", []xdr.Chunk{chunk(4, nil)}, ""},
		{"empty, and here", []xdr.Chunk{{Position: xdr.Floating, Source: far}, chunk(4, nil)}, ""},
	} {
		for name, fetch := range map[string]func(xdr.Bulk) ([]byte, error){
			"FetchInto": func(b xdr.Bulk) ([]byte, error) {
				p := make([]byte, 4)
				return p, b.FetchInto(t.Context(), [][]byte{p})
			},
			"Bytes": func(b xdr.Bulk) ([]byte, error) { return b.Bytes(t.Context()) },
			"Take": func(b xdr.Bulk) ([]byte, error) {
				p, release, err := b.Take(t.Context())
				if err == nil {
					release.Release()
				}
				return p, err
			},
		} {
			for _, failure := range []error{nil, io.ErrUnexpectedEOF} {
				var d xdr.Decoder
				d.Reset([]byte{0, 0, 0, 4}, tt.chunks)
				w := watcher{err: failure}
				coming := d.Watch(&w)
				p, err := fetch(d.Bulk(4))
				want := cmp.Or(tt.want, "here")
				if tt.want == "" {
					failure = nil
				}
				if !errors.Is(err, failure) || failure == nil && (err != nil || string(p) != want) {
					t.Errorf("%s, %s: got %q, %v, want %q, %v", tt.name, name, p, err, want, failure)
				}
				if w.arrived != tt.want || w.n != len(tt.want) || coming != (tt.want != "") {
					t.Errorf("%s, %s: the watcher saw %q, %d bytes, coming %v", tt.name, name,
						w.arrived, w.n, coming)
				}
			}
		}
	}
	if far.taken != 4 {
		t.Errorf("%d of 4 taken chunks were released", far.taken)
	}
}

// A watcher is told that a fetch has failed.
func TestWatchFailed(t *testing.T) {
	from := &source{chunks: [][]byte{[]byte("away")}, err: io.ErrClosedPipe}
	var d xdr.Decoder
	d.Reset([]byte{0, 0, 0, 4}, []xdr.Chunk{{Position: 4, Len: 4, Source: from}})
	d.Watch(&watcher{err: io.ErrUnexpectedEOF})
	if _, _, err := d.Bulk(4).Take(t.Context()); err != io.ErrClosedPipe || from.taken > 0 {
		t.Errorf("got %v, released %d times", err, from.taken)
	}
}
