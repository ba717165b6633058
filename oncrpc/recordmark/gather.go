package recordmark

import (
	"encoding/binary"
	"net"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const (
	// Pieces of up to stageMax bytes are copied together. Many small pieces cost more in a vector
	// than copying does.
	stageMax = 512
	// stageLen is the room for small pieces.
	stageLen = 16 << 10
	// batchLen is the approximate number of bytes in one write.
	batchLen = 1 << 20
)

// gatherer encodes messages as records and writes many of them at once. It copies only marks and
// small pieces.
type gatherer struct {
	conn     net.Conn
	fragment int // maximum length in bytes
	vec      net.Buffers
	left     net.Buffers // the part of vec not written yet
	stage    []byte
	tail     int // where in stage the last buffer of vec begins, or -1
}

func newGatherer(conn net.Conn, fragment int) gatherer {
	return gatherer{conn: conn, fragment: fragment, stage: make([]byte, 0, stageLen), tail: -1}
}

// message appends a message of n bytes as one record, in several fragments if necessary. It may
// write earlier messages. If the message has another length, the error is errMessageChanged: the
// peer would wait for the rest of a fragment, or mistake data for a mark.
func (g *gatherer) message(m *xdr.Message, n int) (err error) {
	room := 0 // left in the current fragment
	m.Pieces(func(p []byte) {
		for len(p) > 0 && err == nil {
			if room+n == 0 {
				err = errMessageChanged
				return
			}
			if room == 0 {
				room = min(n, g.fragment)
				n -= room
				err = g.mark(room, n == 0)
			}
			k := min(room, len(p))
			g.piece(p[:k])
			p, room = p[k:], room-k
		}
	})
	if err == nil && room+n > 0 {
		err = errMessageChanged
	}
	return err
}

func (g *gatherer) mark(n int, last bool) error {
	if cap(g.stage)-len(g.stage) < markLen {
		if err := g.flush(); err != nil {
			return err
		}
	}
	mark := uint32(n)
	if last {
		mark |= lastFragment
	}
	g.toStage()
	g.stage = binary.BigEndian.AppendUint32(g.stage, mark)
	g.staged()
	return nil
}

func (g *gatherer) piece(p []byte) {
	if len(p) > stageMax || len(p) > cap(g.stage)-len(g.stage) {
		g.vec = append(g.vec, p)
		g.tail = -1
		return
	}
	g.toStage()
	g.stage = append(g.stage, p...)
	g.staged()
}

// toStage appends a buffer to vec that will hold the end of stage, unless there is one.
func (g *gatherer) toStage() {
	if g.tail < 0 {
		g.tail = len(g.stage)
		g.vec = append(g.vec, nil)
	}
}

func (g *gatherer) staged() { g.vec[len(g.vec)-1] = g.stage[g.tail:] }

// flush writes everything gathered and forgets it, even if writing fails.
func (g *gatherer) flush() error {
	g.left = g.vec
	_, err := g.left.WriteTo(g.conn)
	g.left = nil
	clear(g.vec)
	g.vec, g.stage, g.tail = g.vec[:0], g.stage[:0], -1
	return err
}
