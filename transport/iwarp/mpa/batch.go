package mpa

import (
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

const (
	// batchBytes is the size at which a batch is full: about as much as one writev is worth, 1 MiB
	// with what belongs to it. With CRC it is less, so that what the CRC has brought into the cache
	// is still there when it is sent.
	batchBytes    = 1<<20 + 64<<10
	batchBytesCRC = 256 << 10

	// batchPieces is the number of pieces at which a batch is full. It stays below the 1024 that
	// one writev takes (IOV_MAX).
	batchPieces = 960

	// copyBelow is the length up to which payload is copied: a copy costs less than a piece of its
	// own.
	copyBelow = 1 << 10

	// arenaSize is room for the framing and for copied payload: four of the largest segments.
	arenaSize = 264 << 10
)

// batch is a run of FPDUs on their way to the network. It is a list of pieces. A piece is either a
// run of the arena, which holds the framing and short payload, or payload where it lies.
type batch struct {
	arena  []byte
	pieces [][]byte
	owners []transport.STag // of the pieces
	ends   []int            // of each FPDU, in bytes from the beginning of the batch
	size   int              // bytes
	sent   int              // bytes sent
	base   int              // position of the batch in the stream of FPDUs
	first  int              // the first piece not wholly sent
	open   bool             // the last piece is the end of the arena, and can grow
	copies bool             // all payload is copied
	vector vector
}

var batches = sync.Pool{New: func() any {
	return &batch{
		arena:  make([]byte, 0, arenaSize),
		pieces: make([][]byte, 0, batchPieces+64),
		owners: make([]transport.STag, 0, batchPieces+64),
		ends:   make([]int, 0, batchPieces+64),
	}
}}

// release returns the batch to the pool.
func (b *batch) release() {
	clear(b.pieces)
	b.arena, b.pieces, b.owners, b.ends = b.arena[:0], b.pieces[:0], b.owners[:0], b.ends[:0]
	b.size, b.sent, b.base, b.first, b.open, b.copies = 0, 0, 0, 0, false, false
	batches.Put(b)
}

// add appends the FPDU of a segment. It reports false if the batch is full.
func (b *batch) add(header []byte, p *ddp.Payload, n int, owner transport.STag, crc bool) bool {
	limit := batchBytes
	if crc {
		limit = batchBytesCRC
	}
	ulpdu := len(header) + n
	frame := fpduSize(ulpdu) - n
	room := frame
	// Memory of an owner may change while it is sent: the peer may write to what it reads. The CRC
	// must be that of the bytes sent, so these are copied first.
	snapshot := b.copies || crc && owner != 0
	if snapshot {
		room += n
	}
	if b.size >= limit || len(b.pieces) >= batchPieces || len(b.arena)+room+copyBelow > cap(b.arena) {
		return false
	}
	start := len(b.arena)
	b.copy([]byte{byte(ulpdu >> 8), byte(ulpdu)})
	b.copy(header)
	sum := uint32(0)
	if crc {
		sum = crc32.Update(0, castagnoli, b.arena[start:])
	}
	trailer := padding(ulpdu) + crcSize
	for left := n; left > 0; {
		piece := p.Next(left)
		left -= len(piece)
		if snapshot || len(piece) <= copyBelow && len(b.arena)+len(piece)+trailer <= cap(b.arena) {
			b.copy(piece)
			piece = b.arena[len(b.arena)-len(piece):]
		} else {
			b.refer(piece, owner)
		}
		if crc {
			sum = crc32.Update(sum, castagnoli, piece)
		}
	}
	var end [crcSize]byte
	pad := trailer - crcSize
	b.copy(end[:pad])
	if crc {
		sum = crc32.Update(sum, castagnoli, b.arena[len(b.arena)-pad:])
		binary.LittleEndian.PutUint32(end[:], sum)
	}
	b.copy(end[:])
	b.ends = append(b.ends, b.size)
	return true
}

// copy appends bytes through the arena, which must have room.
func (b *batch) copy(p []byte) {
	b.took(copy(b.arena[len(b.arena):cap(b.arena)], p))
}

// took extends the arena by the n bytes already written behind it.
func (b *batch) took(n int) {
	start := len(b.arena)
	b.arena = b.arena[:start+n]
	b.size += n
	if b.open {
		last := &b.pieces[len(b.pieces)-1]
		*last = (*last)[:len(*last)+n]
		return
	}
	b.pieces = append(b.pieces, b.arena[start:])
	b.owners = append(b.owners, 0)
	b.open = true
}

// refer appends bytes without a copy.
func (b *batch) refer(p []byte, owner transport.STag) {
	b.pieces = append(b.pieces, p)
	b.owners = append(b.owners, owner)
	b.size += len(p)
	b.open = false
}

// advance notes that n more bytes were sent.
func (b *batch) advance(n int) {
	b.sent += n
	for n > 0 {
		p := &b.pieces[b.first]
		if n < len(*p) {
			*p = (*p)[n:]
			return
		}
		n -= len(*p)
		*p = nil
		b.first++
	}
}

// empty reports whether all was sent.
func (b *batch) empty() bool { return b.sent == b.size }

// detach copies the payload that the batch refers to under the name owner.
func (b *batch) detach(owner transport.STag) {
	for i := b.first; i < len(b.pieces); i++ {
		if b.owners[i] == owner {
			b.pieces[i] = append([]byte(nil), b.pieces[i]...)
			b.owners[i] = 0
		}
	}
}

// cut drops the FPDUs not yet begun. It copies the rest of a partly sent one, or drops that too if
// all.
func (b *batch) cut(all bool) {
	keep := b.begun()
	if all {
		keep = 0
	}
	rest := make([]byte, 0, keep)
	for _, p := range b.pieces[b.first:] {
		rest = append(rest, p[:min(len(p), keep-len(rest))]...)
	}
	gone := min(1, b.sent) // so that begun still sees a partly sent FPDU
	clear(b.pieces)
	*b = batch{
		arena:  b.arena[:0],
		pieces: append(b.pieces[:0], rest),
		owners: append(b.owners[:0], 0),
		ends:   append(b.ends[:0], gone+len(rest)),
		size:   gone + len(rest),
		sent:   gone,
		base:   b.base + b.sent - gone,
		copies: b.copies,
		vector: b.vector,
	}
}

// unbegun reports whether there is a whole FPDU not yet begun.
func (b *batch) unbegun() bool { return b.size-b.sent > b.begun() }

// begun returns the unsent bytes of a partly sent FPDU.
func (b *batch) begun() int {
	if b.sent == 0 {
		return 0
	}
	for _, end := range b.ends {
		if end >= b.sent {
			return end - b.sent
		}
	}
	return 0
}
