package chunks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// A header with empty lists has 28 bytes, so 996 are left; each read segment takes 24 of them.
func TestPlanReply(t *testing.T) {
	const none, empty = NoReadChunks, FixedLen + emptyLists
	noReads := limits
	noReads.NoReads = true
	tests := []struct {
		name    string
		reply   *xdr.Message
		without []bool
		header  int
		room    uint64
		lim     Limits
		want    ReplyPlan
		err     error
	}{
		{"fits exactly", message(996), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: none}, nil},
		{"one byte over", message(997), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"bulk data fits exactly", message(40, 953), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: none}, nil},
		{"bulk data one word over", message(40, 957), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100}, nil},
		{"bulk data of MinChunk", message(972, 100), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100}, nil},
		{"bulk data below MinChunk", message(972, 99), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"rest fits exactly beside a read chunk", message(972, 1000), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100}, nil},
		{"rest one word over beside a read chunk", message(976, 1000), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"bulk data by write chunk, rest fits exactly", message(972, 5000), []bool{true}, empty + writeEntryLen + segmentLen, 0, limits, ReplyPlan{ReadChunkFrom: none}, nil},
		{"bulk data by write chunk, rest one byte over", message(973, 5000), []bool{true}, empty + writeEntryLen + segmentLen, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"one of two by write chunk", message(948, 5000, 500), []bool{true}, empty + writeEntryLen + segmentLen, 0, limits, ReplyPlan{ReadChunkFrom: 100}, nil},
		{"one of two by write chunk, rest one word over", message(952, 5000, 500), []bool{true}, empty + writeEntryLen + segmentLen, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"the second by write chunk", message(948, 500, 5000), []bool{false, true}, empty + writeEntryLen + segmentLen, 0, limits, ReplyPlan{ReadChunkFrom: 100}, nil},
		{"reply chunk that is too small", message(976), nil, empty + replyChunkLen + segmentLen, 0, limits, ReplyPlan{ReadChunkFrom: none}, nil},
		{"reply chunk that is too small, one byte over", message(977), nil, empty + replyChunkLen + segmentLen, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		// 41 read segments is what the header holds.
		{"most items beside a long reply", message(1000, slices.Repeat([]int{100}, 40)...), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"more items than that", message(1000, slices.Repeat([]int{100}, 41)...), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: none, Long: true}, nil},
		{"more items than that, one by write chunk", message(1000, slices.Repeat([]int{100}, 41)...), []bool{true}, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"largest", message(41_000), nil, empty, 0, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"larger than that", message(41_001), nil, empty, 0, limits, ReplyPlan{}, ErrHeader},
		{"as large, by write chunk", message(40, 60_000), []bool{true}, empty, 0, limits, ReplyPlan{ReadChunkFrom: none}, nil},
		{"header too long by itself", message(40), nil, 1025, 0, limits, ReplyPlan{}, ErrHeader},
		{"fits, and the peer cannot read", message(996), nil, empty, 0, noReads, ReplyPlan{ReadChunkFrom: none}, nil},
		{"does not fit, and the peer cannot read", message(997), nil, empty, 0, noReads, ReplyPlan{}, ErrNoReads},
		{"rest just fits in the reply chunk", message(976, 1000), nil, empty + replyChunkLen + segmentLen, 976, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"rest one word too long for the reply chunk", message(980, 1000), nil, empty + replyChunkLen + segmentLen, 976, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		// 40 read segments beside a reply chunk of one.
		{"as many items as the header holds, rest in the reply chunk", message(1000, slices.Repeat([]int{100}, 40)...), nil, empty + replyChunkLen + segmentLen, 1000, limits, ReplyPlan{ReadChunkFrom: 100, Long: true}, nil},
		{"as many items, rest not in the reply chunk", message(1000, slices.Repeat([]int{100}, 40)...), nil, empty + replyChunkLen + segmentLen, 999, limits, ReplyPlan{ReadChunkFrom: none, Long: true}, nil},
		{"more items", message(1000, slices.Repeat([]int{100}, 41)...), nil, empty + replyChunkLen + segmentLen, 1000, limits, ReplyPlan{ReadChunkFrom: none, Long: true}, nil},
		{"no chunks are offered", message(997), nil, empty, 0, Limits{InlineSend: 1024, SegmentSize: 1000, NoReplyChunks: true}, ReplyPlan{ReadChunkFrom: 1, Long: true}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := PlanReply(tt.reply, tt.without, tt.header, tt.room, tt.lim)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			if got != tt.want {
				t.Fatalf("%+v, want %+v", got, tt.want)
			}
			if err := checkReply(tt.reply, tt.without, tt.header, tt.room, got, tt.lim); err != nil {
				t.Error(err)
			}
		})
	}
}

// Our receivers accept MaxSegments segments in all lists together.
func TestPlanReplyMaxSegments(t *testing.T) {
	lim := Limits{InlineSend: 1 << 15, MinChunk: 1, SegmentSize: 64}
	for _, written := range []int{0, 1, 500} {
		header := FixedLen + emptyLists
		if written > 0 {
			header += writeEntryLen + segmentLen*written
		}
		most := MaxSegments - written
		if p, err := PlanReply(message(40, most*64), nil, header, 0, lim); err != nil || p != (ReplyPlan{ReadChunkFrom: 1}) {
			t.Errorf("%d segments beside %d: %+v, %v", most, written, p, err)
		}
		if p, err := PlanReply(message(40, most*64+1), nil, header, 0, lim); !errors.Is(err, ErrHeader) {
			t.Errorf("%d segments beside %d: %+v, %v, want ErrHeader", most+1, written, p, err)
		}
	}
}

func TestPlanReplyAllocates(t *testing.T) {
	m, without := message(40, 5000, 5000), []bool{true}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := PlanReply(m, without, FixedLen+emptyLists, 0, limits); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// checkReply lays a reply out by its plan, as package rpcrdma does, and puts it together again.
func checkReply(m *xdr.Message, without []bool, header int, room uint64, p ReplyPlan, lim Limits) error {
	stays := make([]bool, len(m.Bulk)) // by write chunk
	copy(stays, without)
	all := slices.Clone(stays)
	handle, memory := uint32(0), make(map[uint32][]byte)
	var lists Lists
	read := func(position int, data []byte) {
		handle++
		memory[handle] = data
		for _, s := range AppendSegments(nil, handle, memoryBase, len(data), lim.SegmentSize) {
			lists.Reads = append(lists.Reads, ReadSegment{uint32(position), s})
		}
	}
	for i, it := range m.Bulk {
		if !stays[i] && it.Len >= p.ReadChunkFrom {
			all[i] = true
			read(it.Position, slices.Concat(it.Data...))
		}
	}
	inline := slices.Concat(m.AppendPieces(nil, all)...)
	var written []byte // to the reply chunk
	switch {
	case p.Long && uint64(len(inline)) <= room:
		written, inline = inline, nil
	case p.Long:
		read(0, inline)
		inline = nil
	}
	if n := header + readEntryLen*len(lists.Reads) + len(inline); n > lim.InlineSend {
		return fmt.Errorf("reply of %d bytes, %d allowed", n, lim.InlineSend)
	}
	if len(lists.Reads) > MaxSegments {
		return fmt.Errorf("%d segments", len(lists.Reads))
	}

	list := readChunks(lists.Reads)
	fetch := func(c []ReadSegment) (p []byte) {
		for _, s := range c {
			b := memory[s.Handle][s.Offset-memoryBase:]
			p = append(p, b[:s.Length]...)
		}
		return p
	}
	switch {
	case written != nil:
		inline = written
	case p.Long:
		inline, list = fetch(list[0]), list[1:]
	}
	var stream []byte
	for i, it := range m.Bulk {
		data := slices.Concat(it.Data...)
		switch {
		case stays[i]: // it is here already
		case len(list) > 0 && int(list[0][0].Position) == it.Position && it.Len > 0:
			data, list = fetch(list[0]), list[1:]
		default:
			continue // inline, with what is in front
		}
		n := it.Position - len(stream)
		stream = slices.Concat(stream, inline[:n], data, make([]byte, xdr.PadLen(it.Len)))
		inline = inline[n:]
	}
	stream = append(stream, inline...)
	if want := m.AppendTo(nil); !bytes.Equal(stream, want) || len(list) > 0 {
		return fmt.Errorf("put together: %x, want %x; left over: %v", stream, want, list)
	}
	return nil
}

// Whatever the reply and the limits, a reply laid out by its plan has room, and the receiver puts
// the same message together.
func TestPlanReplyProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lim := Limits{
			InlineSend:  rapid.IntRange(28, 600).Draw(t, "InlineSend"),
			MinChunk:    rapid.IntRange(1, 100).Draw(t, "MinChunk"),
			SegmentSize: rapid.IntRange(1, 200).Draw(t, "SegmentSize"),
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
			e.BulkBytes(p, nil)
			e.Raw(bytes.Repeat([]byte{0xee}, 4*rapid.IntRange(0, 3).Draw(t, "words behind")))
		}
		m := e.Message()
		without := rapid.SliceOfN(rapid.Bool(), 0, len(m.Bulk)).Draw(t, "by write chunk")
		header := FixedLen + emptyLists
		for _, w := range without {
			if w {
				header += writeEntryLen + segmentLen
			}
		}
		room := uint64(rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 600)).Draw(t, "reply chunk"))
		if room > 0 {
			header += replyChunkLen + segmentLen
		}
		p, err := PlanReply(&m, without, header, room, lim)
		if err == nil {
			if err := checkReply(&m, without, header, room, p, lim); err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
		}
		// No plan is better: each is tried only if those before it do not fit.
		for _, q := range []ReplyPlan{
			{ReadChunkFrom: NoReadChunks}, {ReadChunkFrom: lim.MinChunk}, {ReadChunkFrom: lim.MinChunk, Long: true}, {ReadChunkFrom: NoReadChunks, Long: true},
		} {
			if err == nil && q == p {
				break
			}
			if checkReply(&m, without, header, room, q, lim) == nil {
				t.Fatalf("%+v, %v, but %+v fits", p, err, q)
			}
		}
		lim.NoReads = true
		fits := err == nil && p == ReplyPlan{ReadChunkFrom: NoReadChunks}
		if q, err := PlanReply(&m, without, header, room, lim); (err == nil) != fits || (err != nil && !errors.Is(err, ErrNoReads)) {
			t.Fatalf("without reads: %+v, %v", q, err)
		}
	})
}
