package raw

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// Transfer is payload moved by request and response, like a hand-written remote procedure call over
// TCP.
//
// A message is 128 bytes, followed by its payload, if any. It begins with a slot, the size of the
// request's payload, and the size of the response's, 4 bytes each. Each call in flight has a slot,
// which is its own memory at each end. Payload is sent from there and read to there without copies.
type Transfer struct {
	Request, Response int // bytes of payload
	InFlight          int // calls
}

const (
	callBuffer = 4 << 10 // the most bytes read at once to get the head of a message
	maxSlots   = 64
	// maxSlotMemory limits the bytes of all slots of a connection.
	maxSlotMemory = 16 << 20
)

// Calls makes calls of one kind over a Client.
type Calls struct {
	client *Client
	Transfer
	book *callBook
}

// Calls prepares calls of one kind.
func (c *Client) Calls(t Transfer) *Calls {
	s := &Calls{client: c, Transfer: t, book: newCallBook(c.conn)}
	for range t.InFlight {
		s.book.slots = append(s.book.slots, host.Pattern(max(t.Request, t.Response)))
	}
	return s
}

// Run makes n calls.
func (c *Calls) Run(n int) error {
	if err := c.client.announce(head{what: calls, n: uint64(n)}); err != nil {
		return err
	}
	sent := 0
	for ; sent < min(n, c.InFlight); sent++ {
		if err := c.book.send(message{sent, c.Request, c.Response}, c.Request); err != nil {
			return err
		}
	}
	for range n {
		m, err := c.book.receive()
		if err != nil {
			return err
		}
		if m.slot >= c.InFlight || m.response != c.Response {
			return errCall
		}
		if err := c.book.read(m.slot, m.response); err != nil {
			return err
		}
		if sent < n {
			sent++
			if err := c.book.send(message{m.slot, c.Request, c.Response}, c.Request); err != nil {
				return err
			}
		}
	}
	return nil
}

// serveCalls answers n calls.
func (s *server) serveCalls(n uint64) error {
	if s.calls == nil {
		s.calls = newCallBook(s.conn)
	}
	for ; n > 0; n-- {
		m, err := s.calls.receive()
		if err == nil {
			err = s.calls.provide(m)
		}
		if err == nil {
			err = s.calls.read(m.slot, m.request)
		}
		if err == nil {
			err = s.calls.send(m, m.response)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// message is the head of a request or of a response.
type message struct{ slot, request, response int }

// callBook is one end of the calls: their slots and their connection.
type callBook struct {
	conn   net.Conn
	in     *bufio.Reader
	header []byte
	slots  [][]byte
	memory int         // bytes of all slots
	pieces net.Buffers // those of one write
	array  [2][]byte
}

func newCallBook(c net.Conn) *callBook {
	return &callBook{conn: c, in: bufio.NewReaderSize(c, callBuffer), header: host.Pattern(MessageSize)}
}

// fits reports whether a slot may have n bytes.
func fits(n int) bool { return n >= 0 && n <= maxSlotMemory }

// provide makes the slot for a message if necessary, large enough for its payload.
func (b *callBook) provide(m message) error {
	if m.slot < len(b.slots) && max(m.request, m.response) <= len(b.slots[m.slot]) {
		return nil
	}
	for len(b.slots) <= m.slot {
		b.slots = append(b.slots, nil)
	}
	size := max(m.request, m.response)
	if b.memory += size - len(b.slots[m.slot]); b.memory > maxSlotMemory {
		return errCall
	}
	b.slots[m.slot] = host.Pattern(size)
	return nil
}

// send sends a message with this many bytes of payload, in one write.
func (b *callBook) send(m message, payload int) error {
	binary.BigEndian.PutUint32(b.header, uint32(m.slot))
	binary.BigEndian.PutUint32(b.header[4:], uint32(m.request))
	binary.BigEndian.PutUint32(b.header[8:], uint32(m.response))
	if payload == 0 {
		_, err := b.conn.Write(b.header)
		return err
	}
	b.pieces = append(b.array[:0], b.header, b.slots[m.slot][:payload])
	_, err := b.pieces.WriteTo(b.conn)
	return err
}

// receive reads the head of a message.
func (b *callBook) receive() (m message, err error) {
	h, err := b.in.Peek(MessageSize)
	if err != nil {
		return m, err
	}
	m.slot = int(binary.BigEndian.Uint32(h))
	m.request = int(binary.BigEndian.Uint32(h[4:]))
	m.response = int(binary.BigEndian.Uint32(h[8:]))
	if m.slot < 0 || m.slot >= maxSlots || !fits(m.request) || !fits(m.response) {
		return m, errCall
	}
	_, err = b.in.Discard(MessageSize)
	return m, err
}

// read reads payload to its slot. What did not arrive with the head is read there directly.
func (b *callBook) read(slot, payload int) error {
	_, err := io.ReadFull(b.in, b.slots[slot][:payload])
	return err
}
