package sctp

import (
	"encoding/binary"
	"log/slog"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// newInboundLink returns a link whose peer's first TSN is 1, with a recorder of what it sends.
func newInboundLink(t testing.TB, cfg Config) (*link, *recorder) {
	t.Helper()
	cfg.MTU, cfg.Logger = 1000, slog.New(slog.DiscardHandler)
	c, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	sent := new(recorder)
	l := newLink(newSocket(c, sent), header{src: 1, dst: 2, tag: 3}, 4, 2, linkPeer)
	l.start(1, 1)
	return l, sent
}

// dataChunk returns a DATA chunk on stream 1, unordered, with PPID 16.
func dataChunk(tsn uint32, flags byte, data []byte) []byte {
	p := binary.BigEndian.AppendUint32(nil, tsn)
	p = append(p, 0, 1, 0, 0, 0, 0, 0, 16)
	return appendChunk(nil, chunkData, flags|flagUnordered, p, data)
}

// fragmentsOf returns the chunks of a message of n fragments, each with some bytes.
func fragmentsOf(tsn uint32, n, size int, fill byte) (chunks [][]byte, message []byte) {
	for i := range n {
		var flags byte
		if i == 0 {
			flags |= flagBegin
		}
		if i == n-1 {
			flags |= flagEnd
		}
		data := make([]byte, size)
		for j := range data {
			data[j] = fill + byte(i+j)
		}
		message = append(message, data...)
		chunks = append(chunks, dataChunk(tsn+uint32(i), flags, data))
	}
	return chunks, message
}

// deliver takes a packet as it comes from the network, and reads it.
func (l *link) deliver(t testing.TB, chunks ...[]byte) {
	t.Helper()
	l.take(slices.Concat(chunks...), linkPeer)
	p := make([]byte, pionPacket)
	for {
		l.mu.Lock()
		n := l.queue.Len()
		l.mu.Unlock()
		if n == 0 {
			return
		}
		q, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		if n := l.read(p, q); n > headerLen {
			t.Errorf("for pion/sctp there is %x", p[headerLen:n])
		}
	}
}

// received returns the messages that wait, in order of arrival, and gives back their memory.
func (l *link) received() (all []lower.Message) {
	for {
		l.in.mu.Lock()
		none := l.in.first == nil
		l.in.mu.Unlock()
		if none {
			return all
		}
		m, _ := l.in.receive(nil)
		l.in.giveBack(m.Reserved)
		all = append(all, m)
	}
}

// over ends the link. All that it had reserved must be back.
func (l *link) over(t testing.TB) {
	t.Helper()
	l.Close()
	l.in.close()
	l.received()
	all := int64(l.socket.cfg.Memory)
	if !l.socket.cfg.memory.Take(l.host, all) {
		t.Error("not all memory is back")
		return
	}
	l.socket.cfg.memory.Give(l.host, all)
}

// reserved returns how many bytes a host has from the memory of a Config, within a KiB.
func (l *link) reserved() int {
	other := peerhost.Host{}
	n := 0
	for all := l.socket.cfg.Memory; n+1<<10 <= all; n += 1 << 10 {
		if l.socket.cfg.memory.Fits(other, int64(all-n)) {
			break
		}
	}
	return n
}

// sack is what a SACK tells.
type sack struct {
	cum, window uint32
	blocks      []gapBlock
	duplicates  []uint32
}

// sacks returns the SACKs that were sent, and forgets them.
func (r *recorder) sacks(t testing.TB) (all []sack) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sent {
		p := unhex(t, s)
		if len(p) > 1000 {
			t.Errorf("a packet of %d bytes", len(p))
		}
		c, rest := nextChunk(p[headerLen:])
		if !c.is(chunkSack) || len(rest) > 0 {
			t.Fatalf("sent %x, want a SACK", p)
		}
		v := c.value()
		s := sack{cum: binary.BigEndian.Uint32(v), window: binary.BigEndian.Uint32(v[4:])}
		blocks, duplicates := binary.BigEndian.Uint16(v[8:]), binary.BigEndian.Uint16(v[10:])
		v = v[12:]
		for range blocks {
			s.blocks = append(s.blocks, gapBlock{binary.BigEndian.Uint16(v), binary.BigEndian.Uint16(v[2:])})
			v = v[4:]
		}
		for range duplicates {
			s.duplicates = append(s.duplicates, binary.BigEndian.Uint32(v))
			v = v[4:]
		}
		all = append(all, s)
	}
	r.sent = nil
	return all
}
