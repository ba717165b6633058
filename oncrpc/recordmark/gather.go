package recordmark

import (
	"encoding/binary"
	"net"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const (
	// Pieces up to stageMax bytes are copied together: a vector of many small ones
	// costs more than the copy.
	stageMax = 512
	// stageLen is the room for them.
	stageLen = 16 << 10
	// batchLen is how many bytes leave in one write, roughly.
	batchLen = 1 << 20
)

// gatherer lays messages out as records and writes many of them at once. Only
// marks and small pieces are copied.
type gatherer struct {
	conn     net.Conn
	fragment int // largest length
	vec      net.Buffers
	left     net.Buffers // what a write has not written yet, of vec
	stage    []byte
	tail     int // where in stage the last buffer of vec begins, or -1
}

func newGatherer(conn net.Conn, fragment int) gatherer {
	return gatherer{conn: conn, fragment: fragment, stage: make([]byte, 0, stageLen), tail: -1}
}

// message appends a message of n bytes as one record, of several fragments if it must be.
// It may write what came before. A message of another length would leave the peer waiting for the
// rest of a fragment, or taking data for a mark: it is errMessageChanged.
func (g *gatherer) message(m *xdr.Message, n int) (err error) {
	room := 0 // left in the present fragment
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

// toStage makes the end of stage the end of the vector.
func (g *gatherer) toStage() {
	if g.tail < 0 {
		g.tail = len(g.stage)
		g.vec = append(g.vec, nil)
	}
}

func (g *gatherer) staged() { g.vec[len(g.vec)-1] = g.stage[g.tail:] }

// flush writes what was gathered and forgets it, even when it fails.
func (g *gatherer) flush() error {
	g.left = g.vec
	_, err := g.left.WriteTo(g.conn)
	g.left = nil
	clear(g.vec)
	g.vec, g.stage, g.tail = g.vec[:0], g.stage[:0], -1
	return err
}
