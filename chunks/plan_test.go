package chunks

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// message is a stream of inline bytes, followed by items of bulk data with these lengths.
func message(inline int, bulk ...int) *xdr.Message {
	m := &xdr.Message{Inline: make([]byte, inline)}
	pos := inline
	for _, n := range bulk {
		m.Bulk = append(m.Bulk, xdr.BulkItem{Position: pos, Len: n, Data: [][]byte{make([]byte, n)}})
		pos += xdr.RoundUp(n)
	}
	return m
}

// The limits of the tables. A header with empty lists has 28 bytes, so 996 are left; each
// read segment takes 24 of them, a write chunk 8 and 16 a segment, a reply chunk 4 and 16
// a segment.
var limits = Limits{InlineSend: 1024, InlineRecv: 1024, MinChunk: 100, SegmentSize: 1000}

func TestPlanCall(t *testing.T) {
	const none = NoReadChunks
	tests := []struct {
		name     string
		call     *xdr.Message
		results  []int
		maxReply int
		want     CallPlan
		fail     bool
	}{
		{"call fits exactly", message(996), nil, 100, CallPlan{ReadChunkFrom: none}, false},
		{"call one byte over", message(997), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"bulk data fits exactly", message(40, 956), nil, 100, CallPlan{ReadChunkFrom: none}, false},
		{"round-up fits exactly", message(40, 953), nil, 100, CallPlan{ReadChunkFrom: none}, false},
		{"round-up one word over", message(40, 957), nil, 100, CallPlan{ReadChunkFrom: 100}, false},
		{"bulk data of MinChunk", message(972, 100), nil, 100, CallPlan{ReadChunkFrom: 100}, false},
		{"bulk data below MinChunk", message(972, 99), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"rest fits exactly beside a read chunk", message(972, 1000), nil, 100, CallPlan{ReadChunkFrom: 100}, false},
		{"rest one word over beside a read chunk", message(976, 1000), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"two items", message(948, 500, 500), nil, 100, CallPlan{ReadChunkFrom: 100}, false},
		{"two items, rest one word over", message(952, 500, 500), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"three segments", message(924, 2001), nil, 100, CallPlan{ReadChunkFrom: 100}, false},
		{"three segments, rest one word over", message(928, 2001), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"small item stays with the rest", message(920, 500, 49), nil, 100, CallPlan{ReadChunkFrom: 100}, false},
		{"small item one word too many for the rest", message(924, 500, 49), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"item of no bytes", message(996, 0), nil, 100, CallPlan{ReadChunkFrom: none}, false},
		{"item of no bytes in a long call", message(997, 0), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		// 41 segments is what the header holds: one of the rest and 40 others.
		{"most items beside a long call", message(1000, slices.Repeat([]int{100}, 40)...), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"more items than that", message(1000, slices.Repeat([]int{100}, 41)...), nil, 100, CallPlan{ReadChunkFrom: none, Long: true}, false},
		{"largest call", message(41_000), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}, false},
		{"larger than that", message(41_001), nil, 100, CallPlan{}, true},

		{"reply fits exactly", message(40), nil, 996, CallPlan{ReadChunkFrom: none}, false},
		{"reply one byte over", message(40), nil, 997, CallPlan{ReadChunkFrom: none, ReplyChunk: true}, false},
		{"reply of nothing", message(40), nil, 0, CallPlan{ReadChunkFrom: none}, false},
		{"result fits exactly", message(40), []int{896}, 100, CallPlan{ReadChunkFrom: none}, false},
		{"result's round-up fits exactly", message(40), []int{893}, 100, CallPlan{ReadChunkFrom: none}, false},
		{"result's round-up one word over", message(40), []int{897}, 100, CallPlan{ReadChunkFrom: none, WriteResults: true}, false},
		{"rest of the reply fits exactly", message(40), []int{1000}, 972, CallPlan{ReadChunkFrom: none, WriteResults: true}, false},
		{"rest of the reply one byte over", message(40), []int{1000}, 973, CallPlan{ReadChunkFrom: none, WriteResults: true, ReplyChunk: true}, false},
		{"two results, rest fits exactly", message(40), []int{500, 500}, 948, CallPlan{ReadChunkFrom: none, WriteResults: true}, false},
		{"two results, rest one byte over", message(40), []int{500, 500}, 949, CallPlan{ReadChunkFrom: none, WriteResults: true, ReplyChunk: true}, false},
		{"result of three segments, rest fits exactly", message(40), []int{2001}, 940, CallPlan{ReadChunkFrom: none, WriteResults: true}, false},
		{"result of three segments, rest one byte over", message(40), []int{2001}, 941, CallPlan{ReadChunkFrom: none, WriteResults: true, ReplyChunk: true}, false},
		{"empty result beside another", message(40), []int{0, 1000}, 948, CallPlan{ReadChunkFrom: none, WriteResults: true}, false},
		{"empty result beside another, rest one byte over", message(40), []int{0, 1000}, 949, CallPlan{ReadChunkFrom: none, WriteResults: true, ReplyChunk: true}, false},
		{"empty results alone", message(40), []int{0, 0}, 996, CallPlan{ReadChunkFrom: none}, false},
		{"empty results and a long reply", message(40), []int{0, 0}, 997, CallPlan{ReadChunkFrom: none, ReplyChunk: true}, false},
		// 61 segments is what a reply's header with one write chunk holds.
		{"largest result", message(12), []int{61_000}, 12, CallPlan{ReadChunkFrom: none, WriteResults: true}, false},
		{"larger than that", message(12), []int{61_001}, 0, CallPlan{}, true},
		{"header of the reply too long with the reply chunk", message(12), []int{61_000}, 16, CallPlan{}, true},
		{"largest result of a long call", message(1000), []int{60_000}, 28, CallPlan{ReadChunkFrom: 100, WriteResults: true, Long: true}, false},
		{"call too long for its header", message(1001), []int{60_000}, 28, CallPlan{}, true},

		{"call fits exactly beside a write chunk", message(972), []int{1000}, 100, CallPlan{ReadChunkFrom: none, WriteResults: true}, false},
		{"call one byte over beside a write chunk", message(973), []int{1000}, 100, CallPlan{ReadChunkFrom: 100, WriteResults: true, Long: true}, false},
		{"call fits exactly beside a reply chunk", message(976), nil, 1000, CallPlan{ReadChunkFrom: none, ReplyChunk: true}, false},
		{"call one byte over beside a reply chunk", message(977), nil, 1000, CallPlan{ReadChunkFrom: 100, ReplyChunk: true, Long: true}, false},
		{"call fits exactly beside both", message(952), []int{1000}, 1000, CallPlan{ReadChunkFrom: none, WriteResults: true, ReplyChunk: true}, false},
		{"call one byte over beside both", message(953), []int{1000}, 1000, CallPlan{ReadChunkFrom: 100, WriteResults: true, ReplyChunk: true, Long: true}, false},
		{"all three lists, call fits exactly", message(832, 5000), []int{1000}, 1000, CallPlan{ReadChunkFrom: 100, WriteResults: true, ReplyChunk: true}, false},
		{"all three lists, call one word over", message(836, 5000), []int{1000}, 1000, CallPlan{ReadChunkFrom: 100, WriteResults: true, ReplyChunk: true, Long: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var results [][]byte
			for _, n := range tt.results {
				results = append(results, make([]byte, n))
			}
			got, err := PlanCall(tt.call, results, tt.maxReply, limits)
			if tt.fail {
				if !errors.Is(err, ErrHeader) {
					t.Fatalf("%+v, error %v, want ErrHeader", got, err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Fatalf("%+v, error %v, want %+v", got, err, tt.want)
			}
			b := build(tt.call, results, tt.maxReply, got, limits)
			if err := b.check(limits); err != nil {
				t.Error(err)
			}
		})
	}
}

// The two ends may differ, and the one with the smaller messages decides what fits.
func TestPlanCallAsymmetric(t *testing.T) {
	lim := limits
	lim.InlineRecv = 4096
	result := [][]byte{make([]byte, 62_000)} // 62 segments: 1028 bytes of header
	if p, err := PlanCall(message(40), result, 0, lim); !errors.Is(err, ErrHeader) {
		t.Errorf("header of the call over InlineSend: %+v, error %v, want ErrHeader", p, err)
	}
	lim = limits
	lim.InlineSend = 4096
	if p, err := PlanCall(message(40), result, 0, lim); !errors.Is(err, ErrHeader) {
		t.Errorf("header of the reply over InlineRecv: %+v, error %v, want ErrHeader", p, err)
	}
	want := CallPlan{ReadChunkFrom: NoReadChunks}
	if p, err := PlanCall(message(4068), nil, 996, lim); err != nil || p != want {
		t.Errorf("call of 4068 bytes: %+v, error %v, want %+v", p, err, want)
	}
	want.ReplyChunk = true
	if p, err := PlanCall(message(4048), nil, 1000, lim); err != nil || p != want {
		t.Errorf("reply of 1000 bytes: %+v, error %v, want %+v", p, err, want)
	}
}

// A header never has more segments than our receivers accept, however large it may be.
func TestPlanCallMaxSegments(t *testing.T) {
	lim := Limits{InlineSend: 1 << 16, InlineRecv: 1 << 16, MinChunk: 1, SegmentSize: 64}
	result := func(n int) [][]byte { return [][]byte{make([]byte, n*64)} }
	tests := []struct {
		name    string
		call    *xdr.Message
		results [][]byte
		fail    bool
	}{
		{"1024 read segments", message(40, 1024*64), nil, false},
		{"1025 read segments", message(40, 1025*64), nil, true},
		{"1024 write segments", message(40), result(1024), false},
		{"1025 write segments", message(40), result(1025), true},
		{"1024 in both lists", message(40, 768*64), result(256 + 768), true},
		{"too many items", message(40, slices.Repeat([]int{32}, 2000)...), nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := PlanCall(tt.call, tt.results, 16, lim)
			if errors.Is(err, ErrHeader) != tt.fail {
				t.Fatalf("%+v, error %v, want one: %v", p, err, tt.fail)
			}
			if err == nil {
				b := build(tt.call, tt.results, 16, p, lim)
				if err := b.check(lim); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestPlanCallAllocates(t *testing.T) {
	m, results := message(40, 5000, 5000), [][]byte{make([]byte, 5000)}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := PlanCall(m, results, 5000, limits); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// built is a call made by a plan, with the memory that its segments stand for.
type built struct {
	call    *xdr.Message
	results [][]byte
	max     int // of the reply without results
	plan    CallPlan
	lists   Lists
	inline  []byte            // behind the header
	memory  map[uint32][]byte // by handle: what read segments stand for
}

// memoryBase is the offset of the first byte under each handle.
const memoryBase = 0xffffff00

// build makes the lists and the inline bytes of a call as package rpcrdma does.
func build(m *xdr.Message, results [][]byte, maxReply int, p CallPlan, lim Limits) *built {
	b := &built{call: m, results: results, max: maxReply, plan: p, memory: make(map[uint32][]byte)}
	handle := uint32(0)
	split := func(n int) []Segment {
		handle++
		return AppendSegments(nil, handle, memoryBase, n, lim.SegmentSize)
	}
	read := func(position int, data [][]byte) {
		all := slices.Concat(data...)
		for _, s := range split(len(all)) {
			b.lists.Reads = append(b.lists.Reads, ReadSegment{uint32(position), s})
		}
		b.memory[handle] = all
	}
	var without []bool
	for i := range m.Bulk {
		without = append(without, m.Bulk[i].Len >= p.ReadChunkFrom)
	}
	rest := m.AppendPieces(nil, without)
	if p.Long {
		read(0, rest)
	} else {
		b.inline = slices.Concat(rest...)
	}
	for i, it := range m.Bulk {
		if without[i] {
			read(it.Position, it.Data)
		}
	}
	if p.WriteResults {
		for _, r := range results {
			segments := split(len(r))
			if len(r) == 0 { // has a segment, too
				segments = []Segment{{Handle: handle, Offset: memoryBase}}
			}
			b.lists.AddWrite(segments)
		}
	}
	if p.ReplyChunk {
		b.lists.SetReply(split(maxReply))
	}
	return b
}

// check plays the receiver's part.
func (b *built) check(lim Limits) error {
	if n := FixedLen + b.lists.Len() + len(b.inline); n > lim.InlineSend {
		return fmt.Errorf("call of %d bytes, %d allowed", n, lim.InlineSend)
	}
	var got Lists
	if err := got.Decode(xdr.NewDecoder(b.lists.Append(nil))); err != nil {
		return err
	}

	// The stream, put together from its pieces, is the whole message.
	chunks := readChunks(got.Reads)
	fetch := func(c []ReadSegment) (p []byte) {
		for _, s := range c {
			m := b.memory[s.Handle][s.Offset-memoryBase:]
			p = append(p, m[:s.Length]...)
		}
		return p
	}
	inline := b.inline
	if b.plan.Long {
		if len(inline) > 0 || len(chunks) == 0 || chunks[0][0].Position != 0 {
			return fmt.Errorf("long call with %d bytes inline and read chunks %v", len(inline), chunks)
		}
		inline, chunks = fetch(chunks[0]), chunks[1:]
	}
	var stream []byte
	for _, c := range chunks {
		n := int(c[0].Position) - len(stream)
		if n < 0 || n > len(inline) {
			return fmt.Errorf("read chunk at position %d, %d bytes before it", c[0].Position, len(stream))
		}
		stream = append(stream, inline[:n]...)
		inline = inline[n:]
		stream = append(stream, fetch(c)...)
		stream = append(stream, make([]byte, xdr.PadLen(len(stream)))...)
	}
	stream = append(stream, inline...)
	if want := b.call.AppendTo(nil); !bytes.Equal(stream, want) {
		return fmt.Errorf("put together: %x, want %x", stream, want)
	}

	// The largest reply has room: its header returns the chunks for results.
	back := Lists{Writes: got.Writes, Reply: got.Reply, HasReply: got.HasReply}
	n := FixedLen + back.Len()
	if b.plan.WriteResults {
		if len(got.Writes) != len(b.results) {
			return fmt.Errorf("%d write chunks for %d results", len(got.Writes), len(b.results))
		}
		for i, w := range got.Writes {
			if w.Len() != uint64(len(b.results[i])) {
				return fmt.Errorf("write chunk of %d bytes for a result of %d", w.Len(), len(b.results[i]))
			}
		}
	} else {
		for _, r := range b.results {
			n += xdr.RoundUp(len(r))
		}
	}
	if b.plan.ReplyChunk {
		if got.Reply.Len() != uint64(b.max) {
			return fmt.Errorf("reply chunk of %d bytes for a reply of %d", got.Reply.Len(), b.max)
		}
	} else {
		n += xdr.RoundUp(b.max)
	}
	if n > lim.InlineRecv {
		return fmt.Errorf("reply of %d bytes, %d allowed", n, lim.InlineRecv)
	}
	return nil
}

// TestPlanCallChunkFrom: data of ChunkFrom bytes goes by chunk even if it fits inline. A read
// segment takes 24 bytes, and so does a write chunk of one segment.
func TestPlanCallChunkFrom(t *testing.T) {
	const none = NoReadChunks
	from := limits
	from.ChunkFrom = 50
	noReads, noReply := from, from
	noReads.NoReads, noReply.NoReplyChunks = true, true
	tests := []struct {
		name     string
		lim      Limits
		call     *xdr.Message
		results  []int
		maxReply int
		want     CallPlan
	}{
		{"item of that length", from, message(40, 50), nil, 100, CallPlan{ReadChunkFrom: 50}},
		{"item below", from, message(40, 49), nil, 100, CallPlan{ReadChunkFrom: none}},
		{"item below, and one of that length", from, message(40, 49, 50), nil, 100, CallPlan{ReadChunkFrom: 50}},
		{"no item", from, message(996), nil, 100, CallPlan{ReadChunkFrom: none}},
		{"item above MinChunk", from, message(40, 100), nil, 100, CallPlan{ReadChunkFrom: 50}},
		{"item that does not fit, and one below MinChunk", from, message(40, 1000, 50), nil, 100, CallPlan{ReadChunkFrom: 50}},
		{"item that does not fit, ChunkFrom above MinChunk", Limits{InlineSend: 1024, InlineRecv: 1024, MinChunk: 100, ChunkFrom: 500, SegmentSize: 1000},
			message(40, 600, 400), nil, 100, CallPlan{ReadChunkFrom: 100}},
		{"no item of that length, and they do not fit", from, message(980, 49), nil, 100, CallPlan{ReadChunkFrom: 100, Long: true}},
		{"segments longer than the data", Limits{InlineSend: 1024, InlineRecv: 1024, MinChunk: 100, ChunkFrom: 1, SegmentSize: 1000},
			message(40, slices.Repeat([]int{4}, 60)...), nil, 100, CallPlan{ReadChunkFrom: none}},
		{"peer that cannot read", noReads, message(40, 50), nil, 100, CallPlan{ReadChunkFrom: none}},
		{"result of that length", from, message(40), []int{50}, 100, CallPlan{ReadChunkFrom: none, WriteResults: true}},
		{"result below", from, message(40), []int{49}, 100, CallPlan{ReadChunkFrom: none}},
		{"the first result of two", from, message(40), []int{50, 4}, 100, CallPlan{ReadChunkFrom: none, WriteResults: true}},
		{"one result of two", from, message(40), []int{4, 50}, 100, CallPlan{ReadChunkFrom: none, WriteResults: true}},
		{"chunks of results that take more room than they", from, message(40), []int{50}, 944, CallPlan{ReadChunkFrom: none, WriteResults: true}},
		{"and one word more", from, message(40), append([]int{50}, slices.Repeat([]int{4}, 20)...), 848, CallPlan{ReadChunkFrom: none}},
		{"header of the call too long for them", Limits{InlineSend: 100, InlineRecv: 1024, MinChunk: 100, ChunkFrom: 1, SegmentSize: 1000, NoReads: true},
			message(64), []int{4}, 100, CallPlan{ReadChunkFrom: none}},
		{"no chunks for the reply", noReply, message(40), []int{50}, 100, CallPlan{ReadChunkFrom: none}},
		{"both", from, message(40, 50), []int{50}, 100, CallPlan{ReadChunkFrom: 50, WriteResults: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var results [][]byte
			for _, n := range tt.results {
				results = append(results, make([]byte, n))
			}
			got, err := PlanCall(tt.call, results, tt.maxReply, tt.lim)
			if err != nil || got != tt.want {
				t.Fatalf("%+v, error %v, want %+v", got, err, tt.want)
			}
			if err := build(tt.call, results, tt.maxReply, got, tt.lim).check(tt.lim); err != nil {
				t.Error(err)
			}
		})
	}
	// A reply is laid out by what its reader has offered.
	if got, err := PlanReply(message(40, 50), nil, FixedLen+emptyLists, 0, from); err != nil || got != (ReplyPlan{ReadChunkFrom: none}) {
		t.Errorf("reply: %+v, error %v, want it inline", got, err)
	}
}

// The peer cannot read, or the caller offers no memory for the reply.
func TestPlanCallWithout(t *testing.T) {
	noReads, noReply, neither := limits, limits, limits
	noReads.NoReads, noReply.NoReplyChunks = true, true
	neither.NoReads, neither.NoReplyChunks = true, true
	tests := []struct {
		name     string
		lim      Limits
		call     *xdr.Message
		results  []int
		maxReply int
		want     CallPlan
		err      error
	}{
		{"call fits exactly", noReads, message(40, 956), nil, 100, CallPlan{ReadChunkFrom: NoReadChunks}, nil},
		{"call one word over", noReads, message(44, 956), nil, 100, CallPlan{}, ErrNoReads},
		{"call without bulk data one byte over", noReads, message(997), nil, 100, CallPlan{}, ErrNoReads},
		{"call fits exactly beside a write chunk", noReads, message(972), []int{1000}, 100, CallPlan{ReadChunkFrom: NoReadChunks, WriteResults: true}, nil},
		{"call one byte over beside a write chunk", noReads, message(973), []int{1000}, 100, CallPlan{}, ErrNoReads},
		{"header of the reply too long", noReads, message(12), []int{61_001}, 0, CallPlan{}, ErrHeader},
		{"reply does not fit", noReply, message(996), nil, 997, CallPlan{ReadChunkFrom: NoReadChunks}, nil},
		{"result does not fit", noReply, message(996), []int{5000}, 100, CallPlan{ReadChunkFrom: NoReadChunks}, nil},
		{"result of any size", noReply, message(12), []int{61_001}, 1 << 20, CallPlan{ReadChunkFrom: NoReadChunks}, nil},
		{"result does not fit, nor does the call", noReply, message(972, 1000), []int{5000}, 100, CallPlan{ReadChunkFrom: 100}, nil},
		{"nor does its rest", noReply, message(976, 1000), []int{5000}, 5000, CallPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"neither, and it fits", neither, message(996), []int{5000}, 5000, CallPlan{ReadChunkFrom: NoReadChunks}, nil},
		{"neither, and it does not", neither, message(997), []int{5000}, 5000, CallPlan{}, ErrNoReads},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var results [][]byte
			for _, n := range tt.results {
				results = append(results, make([]byte, n))
			}
			got, err := PlanCall(tt.call, results, tt.maxReply, tt.lim)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && got != tt.want {
				t.Fatalf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// Whatever the message and the limits, a call laid out by its plan has room, and the receiver
// puts the same message together.
func TestPlanCallProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lim := Limits{
			InlineSend:  rapid.IntRange(28, 600).Draw(t, "InlineSend"),
			InlineRecv:  rapid.IntRange(28, 600).Draw(t, "InlineRecv"),
			MinChunk:    rapid.IntRange(1, 100).Draw(t, "MinChunk"),
			SegmentSize: rapid.IntRange(1, 200).Draw(t, "SegmentSize"),
			ChunkFrom:   rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 300)).Draw(t, "ChunkFrom"),
		}
		var e xdr.Encoder
		e.Raw(make([]byte, 4*rapid.IntRange(1, 100).Draw(t, "words before")))
		next := byte(0)
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 300), 0, 6).Draw(t, "bulk") {
			p := make([]byte, n)
			for i := range p {
				next++
				p[i] = next
			}
			k := rapid.IntRange(0, n).Draw(t, "cut")
			e.Bulk([][]byte{p[:k], p[k:]}, nil)
			e.Raw(bytes.Repeat([]byte{0xee}, 4*rapid.IntRange(0, 3).Draw(t, "words behind")))
		}
		m := e.Message()
		var results [][]byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 400), 0, 3).Draw(t, "results") {
			results = append(results, make([]byte, n))
		}
		maxReply := rapid.IntRange(0, 700).Draw(t, "maxReply")

		p, err := PlanCall(&m, results, maxReply, lim)
		if err == nil {
			if err := build(&m, results, maxReply, p, lim).check(lim); err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
		}
		// What need not be moved is not, except for what is to be.
		plain := CallPlan{ReadChunkFrom: NoReadChunks}
		if build(&m, results, maxReply, plain, lim).check(lim) == nil {
			if err != nil || lim.ChunkFrom == 0 && p != plain {
				t.Fatalf("%+v, error %v: all of it fits inline", p, err)
			}
			for i := range m.Bulk {
				if n := m.Bulk[i].Len; n >= p.ReadChunkFrom && n < lim.ChunkFrom && !p.WriteResults {
					t.Fatalf("%+v: an item of %d bytes fits inline", p, n)
				}
			}
		}
		if p.Long && err == nil {
			short := p
			short.Long = false
			if build(&m, results, maxReply, short, lim).check(lim) == nil {
				t.Fatalf("%+v: the rest fits inline", p)
			}
		}
		if err != nil { // no plan helps that has the reply's chunks
			for _, from := range []int{NoReadChunks, lim.MinChunk} {
				for _, long := range []bool{false, true} {
					q := CallPlan{ReadChunkFrom: from, Long: long, WriteResults: p.WriteResults, ReplyChunk: p.ReplyChunk}
					if build(&m, results, maxReply, q, lim).check(lim) == nil {
						t.Fatalf("%v, but %+v fits", err, q)
					}
				}
			}
		}
	})
}

// TestRegionSize: memory that takes several windows has separate segments for each.
func TestRegionSize(t *testing.T) {
	for _, tt := range []struct{ n, region, segment, want int }{
		{0, 4096, 4096, 0},
		{1, 4096, 4096, 1},
		{4096, 4096, 1 << 20, 1},
		{4097, 4096, 1 << 20, 2},
		{8192, 4096, 1 << 20, 2},
		{8193, 4096, 1 << 20, 3},
		{8192, 4096, 3000, 4},
		{9000, 4096, 3000, 5},
		{1 << 20, 0, 1 << 20, 1},
		{1 << 20, 1 << 21, 1 << 19, 2},
	} {
		lim := limits
		lim.RegionSize, lim.SegmentSize = tt.region, tt.segment
		if got := lim.segments(tt.n); got != tt.want {
			t.Errorf("%d bytes in windows of %d and segments of %d: %d segments, want %d",
				tt.n, tt.region, tt.segment, got, tt.want)
		}
		var m xdr.Message
		m.Inline = make([]byte, 40)
		lim.InlineRecv = FixedLen + emptyLists + writeEntryLen + tt.want*segmentLen
		lim.ChunkFrom = 1
		if tt.n > 2000 {
			if p, err := PlanCall(&m, [][]byte{make([]byte, tt.n)}, 0, lim); err != nil || !p.WriteResults {
				t.Errorf("%d bytes in windows of %d: %+v, %v", tt.n, tt.region, p, err)
			}
			lim.InlineRecv--
			if _, err := PlanCall(&m, [][]byte{make([]byte, tt.n)}, 0, lim); !errors.Is(err, ErrHeader) {
				t.Errorf("%d bytes in windows of %d, and no room for a segment: %v", tt.n, tt.region, err)
			}
		}
	}
}

// readChunks returns the chunks of a read list, by position.
func readChunks(reads []ReadSegment) (chunks [][]ReadSegment) {
	reads = slices.Clone(reads)
	slices.SortStableFunc(reads, func(a, b ReadSegment) int {
		return cmp.Compare(a.Position, b.Position)
	})
	for i, s := range reads {
		if i == 0 || s.Position != reads[i-1].Position {
			chunks = append(chunks, nil)
		}
		last := len(chunks) - 1
		chunks[last] = append(chunks[last], s)
	}
	return chunks
}
