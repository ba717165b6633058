package capture

import (
	"bytes"
	"errors"
	"fmt"
)

// connection assembles the segments of one TCP connection.
type connection struct {
	active, passive stream
	chunks          []Chunk
}

// stream is one direction of a connection.
type stream struct {
	from   endpoint
	opened bool
	closed bool
	isn    uint32 // sequence number of the SYN
	bytes  []byte
}

var (
	errSecondConnection = errors.New("a second connection")
	errNoSYN            = errors.New("data before SYN")
	errGap              = errors.New("bytes are missing")
	errConflict         = errors.New("retransmitted bytes differ from the first ones")
	errBehindFIN        = errors.New("data behind FIN")
	errIncomplete       = errors.New("the capture does not hold the whole connection")
)

// add takes the next segment of the capture.
func (c *connection) add(s tcpSegment) error {
	if s.syn {
		return c.open(s)
	}
	var dir *stream
	switch s.from {
	case c.active.from:
		dir = &c.active
	case c.passive.from:
		dir = &c.passive
	default:
		return errSecondConnection
	}
	news, err := dir.add(s)
	if err != nil {
		return err
	}
	if len(news) > 0 {
		c.chunks = append(c.chunks, Chunk{FromInitiator: dir == &c.active, Bytes: news})
	}
	return nil
}

func (c *connection) open(s tcpSegment) error {
	dir := &c.active
	if s.ack {
		dir = &c.passive
	}
	if dir.opened && (dir.from != s.from || dir.isn != s.seq) {
		return errSecondConnection
	}
	*dir = stream{from: s.from, opened: true, isn: s.seq}
	return nil
}

// add returns the bytes of s that no earlier segment had.
func (d *stream) add(s tcpSegment) ([]byte, error) {
	if !d.opened {
		return nil, errNoSYN
	}
	// The position of s in the stream. It begins after the SYN, which counts as one. Sequence
	// numbers wrap, and streams here are short.
	start := int(int32(s.seq - d.isn - 1))
	switch {
	case start < 0:
		if len(s.payload) > 0 || s.fin {
			return nil, errConflict
		}
		return nil, nil // a keep-alive
	case start > len(d.bytes) && (len(s.payload) > 0 || s.fin):
		return nil, fmt.Errorf("%w: %d", errGap, start-len(d.bytes))
	case len(s.payload) == 0 && !s.fin:
		return nil, nil
	}
	old := min(len(d.bytes)-start, len(s.payload))
	if !bytes.Equal(d.bytes[start:start+old], s.payload[:old]) {
		return nil, errConflict
	}
	news := s.payload[old:]
	if d.closed && len(news) > 0 {
		return nil, errBehindFIN
	}
	d.closed = d.closed || s.fin
	d.bytes = append(d.bytes, news...)
	return news, nil
}

// session returns the result, after all segments have been added.
func (c *connection) session() (*Session, error) {
	if !c.active.closed || !c.passive.closed {
		return nil, errIncomplete
	}
	return &Session{Initiator: c.active.bytes, Responder: c.passive.bytes, Chunks: c.chunks}, nil
}
