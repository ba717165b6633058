package sctp

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// inbound takes the DATA chunks of an association, and acknowledges them (RFC 9260 section 6.2).
// pion/sctp sees none of them: its work for one grows with all that wait, and it keeps the packets
// that they came in.
//
// Each chunk is copied to memory of its own. What that takes, with all overhead, is reserved in
// Config.Memory from the share of the peer's host, until the message is handed on. A chunk for
// which there is no room is dropped, and the peer sends it again. The next one in order is taken
// all the same if no message waits for Receive: what waits may wait for that chunk. The window
// tells what there is room for, so that the peer waits for it to open, and not for its own timer.
type inbound struct {
	link *link

	mu          sync.Mutex // guards what follows
	more        sync.Cond  // a message has come, or nothing more will
	got         tsns
	fragments   fragments
	first, last *arrival // messages for Receive, in order of arrival
	bytes       int      // of all that waits
	memory      int      // that all of it takes
	closed      bool     // nothing more is taken
	acks        acks
}

// arrival is a message that waits for Receive.
type arrival struct {
	lower.Message
	held   *held
	memory int
	next   *arrival
}

var arrivals = sync.Pool{New: func() any { return new(arrival) }}

// arrivalOverhead is what a message takes in addition to the memory that its bytes are in.
const arrivalOverhead = 192

// maxOverhead is how many times Config.Window may be taken by what waits, with all overhead.
const maxOverhead = 2

// acks is the state of the acknowledging of DATA.
type acks struct {
	packets  int         // with DATA since the last SACK
	delay    *time.Timer // runs while one waits for a second
	told     int         // the window in the last SACK
	full     bool        // a chunk was dropped since then for want of memory
	shutting bool        // SHUTDOWN was sent, so each packet is answered (RFC 9260 section 9.2)

	// Of the packet that is being taken.
	any, now   bool // it has DATA; and that is acknowledged without delay
	duplicates []uint32

	blocks []gapBlock // memory for SACKs
}

// sackDelay is how long a SACK may be delayed (RFC 9260 section 6.2). It is also how often a closed
// window is looked at: what others of the same host give back may open it.
const sackDelay = 200 * time.Millisecond

// smallWindow is a window in which a peer may have no second packet to send. So it may wait for the
// acknowledgement of the first.
const smallWindow = 2 * pionPacket

// newInbound returns an inbound that takes nothing before start.
func newInbound(l *link) *inbound {
	in := &inbound{link: l, fragments: newFragments()}
	in.more.L = &in.mu
	in.start(1)
	in.acks.told = l.socket.cfg.Window
	in.acks.delay = time.AfterFunc(sackDelay, in.delayed)
	in.acks.delay.Stop()
	return in
}

// start sets the peer's first TSN.
func (in *inbound) start(first uint32) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got = newTSNs(first, in.link.socket.cfg.Window)
}

// take takes the DATA chunks of a packet, or of a part of one, behind which more follow. It returns
// the length of the packet that it has sent as an answer, or 0. An error is a reason to end the
// association.
func (in *inbound) take(chunks []byte, more bool) (answer int, err error) {
	in.mu.Lock()
	for len(chunks) > 0 {
		var c chunk
		c, chunks = nextChunk(chunks)
		if !c.is(chunkData) {
			continue
		}
		if err := in.data(c); err != nil {
			in.mu.Unlock()
			return 0, err
		}
	}
	var p []byte
	if !more {
		p = in.answer()
	}
	in.mu.Unlock()
	in.send(p)
	return len(p), nil
}

// data takes a DATA chunk.
func (in *inbound) data(c chunk) error {
	if in.closed {
		return nil
	}
	tsn, a := tsnOf(c), &in.acks
	a.any = true
	a.now = a.now || c.flags()&flagImmediate != 0 || a.told < smallWindow || !in.got.complete()
	switch {
	case in.got.far(tsn):
		in.drop()
		return nil
	case in.got.has(tsn):
		if len(a.duplicates) < pionPacket/4 {
			a.duplicates = append(a.duplicates, tsn)
		}
		return nil
	case !in.fragments.fits(c, &in.got):
		return errFragments
	}
	const whole = flagBegin | flagEnd
	isWhole, n := c.flags()&whole == whole, len(c)-dataHeaderLen
	memory := arrivalMemory(n)
	if !isWhole {
		memory = in.fragments.cost(c)
	}
	reserved := memory
	if in.memory+memory > maxOverhead*in.link.socket.cfg.Window || !in.reserve(memory) {
		if reserved = 0; in.got.ahead(tsn) != 1 || in.first != nil {
			a.full = true
			in.drop()
			return nil
		}
	}
	in.got.add(tsn)
	in.bytes += n
	in.memory += memory
	if isWhole {
		in.push(wholeMessage(c), keep(false, c[dataHeaderLen:]), memory, reserved)
		return nil
	}
	r := in.fragments.add(c)
	r.reserved += reserved
	switch {
	case r.length > maxMessage:
		return errTooLong
	case r.begun && r.ended:
		in.assemble(r)
	}
	return nil
}

// drop notes that a chunk was dropped for want of room. Then the peer is told what did come.
func (in *inbound) drop() {
	in.acks.now = true
	atomic.AddUint64(&in.link.socket.cfg.Counters.stats.Dropped, 1)
}

func tsnOf(c chunk) uint32 { return binary.BigEndian.Uint32(c[4:]) }

// wholeMessage returns the message of a chunk with B and E, without its data.
func wholeMessage(c chunk) lower.Message {
	return lower.Message{
		Stream: binary.BigEndian.Uint16(c[8:]), PPID: binary.BigEndian.Uint32(c[12:]),
		Unordered: c.flags()&flagUnordered != 0, First: tsnOf(c), Last: tsnOf(c),
	}
}

// arrivalMemory returns what a message of n bytes takes.
func arrivalMemory(n int) int { return heldSize(n) + arrivalOverhead }

// push queues a message for Receive.
func (in *inbound) push(m lower.Message, h *held, memory, reserved int) {
	m.Reserved = reserved
	next := arrivals.Get().(*arrival)
	*next = arrival{Message: m, held: h, memory: memory}
	if in.first == nil {
		in.first = next
	} else {
		in.last.next = next
	}
	in.last = next
	in.more.Signal()
}

// assemble makes a message from all its fragments.
func (in *inbound) assemble(r *run) {
	in.fragments.remove(r)
	h := newHeld(r.length)
	h.data = r.message(h.memory[:0])
	memory := arrivalMemory(r.length)
	in.memory += memory - r.memory
	if need := memory - r.reserved; need <= 0 {
		in.giveBack(-need)
		r.reserved = memory
	} else if in.reserve(need) {
		r.reserved = memory
	}
	in.push(lower.Message{
		Stream: r.stream, PPID: r.ppid, Unordered: r.unordered, First: r.first, Last: r.last,
	}, h, memory, r.reserved)
}

func (in *inbound) reserve(n int) bool {
	return in.link.socket.cfg.memory.Take(in.link.host, int64(n))
}

func (in *inbound) giveBack(n int) {
	if n > 0 {
		in.link.socket.cfg.memory.Give(in.link.host, int64(n))
	}
}

// receive waits for a message, and hands it on with what is reserved for it. Its data is in b if
// that is large enough. It reports false when nothing more will come.
func (in *inbound) receive(b []byte) (m lower.Message, ok bool) {
	in.mu.Lock()
	for in.first == nil && !in.closed {
		in.more.Wait()
	}
	next := in.first
	if next == nil {
		in.mu.Unlock()
		return m, false
	}
	in.first = next.next
	in.memory -= next.memory
	in.bytes -= len(next.held.data)
	var update []byte
	if !in.closed && in.window()-in.acks.told >= in.link.socket.cfg.Window/4 {
		update = in.sack()
	}
	in.mu.Unlock()
	in.send(update)
	m = next.Message
	if h := next.held; len(h.data) <= len(b) {
		m.Data = b[:copy(b, h.data)]
		h.release()
	} else {
		m.Data = h.data
	}
	*next = arrival{}
	arrivals.Put(next)
	return m, true
}

// close notes that nothing more will come. What is complete can still be received.
func (in *inbound) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.acks.delay.Stop()
	for _, r := range in.fragments.firsts {
		in.giveBack(r.reserved)
	}
	in.fragments = fragments{}
	in.more.Broadcast()
}

// window returns the receive window: 0 if it is too small to be of use. What it lets the peer send
// may take maxOverhead times as much.
func (in *inbound) window() int {
	cfg := in.link.socket.cfg
	n := cfg.Window - max(in.bytes, in.memory/maxOverhead)
	n = min(n, int(cfg.memory.Room(in.link.host)/maxOverhead))
	if n < leastWindow {
		return 0
	}
	return n
}

// answer returns a packet that acknowledges the DATA of another, or nil if that can wait.
func (in *inbound) answer() []byte {
	a := &in.acks
	if !a.any {
		return nil
	}
	a.packets++
	if !a.now && !a.shutting && a.packets < 2 && in.got.complete() && len(a.duplicates) == 0 {
		a.any = false
		a.delay.Reset(sackDelay)
		return nil
	}
	p := in.sack()
	if a.shutting {
		p = appendChunk(p, chunkShutdown, 0, binary.BigEndian.AppendUint32(nil, in.got.cum))
	}
	return p
}

// sack returns a packet with a SACK chunk, and with room for a SHUTDOWN chunk, for send.
func (in *inbound) sack() []byte {
	a := &in.acks
	a.delay.Stop()
	room := (int(in.link.mtu.Load()) - headerLen - sackLen - shutdownLen) / 4
	a.blocks = in.got.blocks(a.blocks[:0], room)
	duplicates := a.duplicates[:min(len(a.duplicates), room-len(a.blocks))]
	if a.told = in.window(); a.full {
		a.told = 0
	}
	if a.told == 0 && !in.closed {
		a.delay.Reset(sackDelay)
	}
	p := in.link.ports.append(packets.Get().(*[pionPacket]byte)[:0])
	p = append(p, byte(chunkSack), 0)
	p = binary.BigEndian.AppendUint16(p, uint16(sackLen+4*(len(a.blocks)+len(duplicates))))
	p = binary.BigEndian.AppendUint32(p, in.got.cum)
	p = binary.BigEndian.AppendUint32(p, uint32(a.told))
	p = binary.BigEndian.AppendUint16(p, uint16(len(a.blocks)))
	p = binary.BigEndian.AppendUint16(p, uint16(len(duplicates)))
	for _, b := range a.blocks {
		p = binary.BigEndian.AppendUint16(p, b.first)
		p = binary.BigEndian.AppendUint16(p, b.last)
	}
	for _, tsn := range duplicates {
		p = binary.BigEndian.AppendUint32(p, tsn)
	}
	a.packets, a.any, a.now, a.full, a.duplicates = 0, false, false, false, a.duplicates[:0]
	return p
}

// delayed sends the SACK that was delayed, or tells that a closed window has opened.
func (in *inbound) delayed() {
	in.mu.Lock()
	var p []byte
	switch a := &in.acks; {
	case in.closed:
	case a.packets > 0 || a.told == 0 && in.window() > 0:
		p = in.sack()
	case a.told == 0:
		a.delay.Reset(sackDelay)
	}
	in.mu.Unlock()
	in.send(p)
}

// send sends a packet, if there is one, unless the association has ended.
func (in *inbound) send(p []byte) {
	if p == nil {
		return
	}
	select {
	case <-in.link.gone:
	default:
		in.link.socket.send(seal(p), in.link.path())
	}
	packets.Put((*[pionPacket]byte)(p[:pionPacket]))
}

// shutdown notes that this side sends SHUTDOWN, and returns the cumulative TSN for it.
func (in *inbound) shutdown() uint32 {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.acks.shutting = true
	return in.got.cum
}
