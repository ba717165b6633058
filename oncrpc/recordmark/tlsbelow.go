package recordmark

import (
	"encoding/binary"
	"errors"
	"net"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

const (
	// maxHandshakes is how many TLS handshakes of all peers of a Serve use processors at a time.
	maxHandshakes = 8
	// handshakeReads is how many reads a KiB of a handshake costs. The first KiB makes the server
	// sign: with an RSA key of 2,048 bits that takes as long as so many small calls
	// (BenchmarkTLSHandshake). A KiB of certificates may cost as much, if their keys are made to be
	// slow.
	handshakeReads = 80
	// maxHandshakeBytes is how much a client may send in its handshake. Long chains of certificates
	// have some 10 KiB.
	maxHandshakeBytes = 64 << 10
)

var errLongHandshake = errors.New("the handshake is too long")

// tlsBelow is the connection below the TLS of a peer of a Serve. It charges the peer's host for
// what TLS does with the bytes: for each KiB of the handshake, and then for each record. Many
// records may come in one read, and those without data never reach the receiver, which awaits its
// turn for each of the others.
type tlsBelow struct {
	net.Conn
	reader  processors
	records tlsRecords
	turn    *tlsTurn // nil after the handshake
}

// processors is a fair.Reader.
type processors interface {
	Await()
	Charge(reads int)
}

// Read reads for TLS.
func (b *tlsBelow) Read(p []byte) (int, error) {
	if b.turn != nil {
		return b.turn.read(b, p)
	}
	b.reader.Await()
	n, err := b.Conn.Read(p)
	if records := b.records.begin(p[:n]); records > 1 {
		b.reader.Charge(records - 1) // Await has counted one
	}
	return n, err
}

// tlsTurn is the turn of a handshake to use processors. A handshake that waits for its peer has
// none, so a silent peer keeps nobody waiting.
type tlsTurn struct {
	share share // of maxHandshakes
	conn  *Conn
	late  time.Time // the end of the handshake, if it is not over before
	has   bool      // it is this handshake's turn
	bytes int       // that the peer has sent
}

// handshake prepares the connection for a handshake. The caller calls over when it has ended.
func (b *tlsBelow) handshake(c *Conn, places *budget.Budget[waiter]) {
	b.turn = &tlsTurn{conn: c, late: time.Now().Add(tlsTimeout)}
	places.Join(&b.turn.share.Share, peerhost.Of(c.RemoteAddr()), 1)
}

// Write writes for TLS. A handshake has computed what there is to compute before it writes. So it
// has no turn while it waits for a peer who reads nothing.
func (b *tlsBelow) Write(p []byte) (int, error) {
	if b.turn != nil {
		b.turn.end()
	}
	return b.Conn.Write(p)
}

// over ends the handshake's use of processors.
func (b *tlsBelow) over() {
	b.turn.end()
	b.turn.share.leave()
	b.turn = nil
}

// read reads bytes of the handshake, and waits for its turn to use them.
func (t *tlsTurn) read(b *tlsBelow, p []byte) (int, error) {
	t.end()
	n, err := b.Conn.Read(p)
	b.records.begin(p[:n])
	begun := (t.bytes + 1023) / 1024
	t.bytes += n
	b.reader.Charge(handshakeReads * ((t.bytes+1023)/1024 - begun))
	switch {
	case err != nil:
		return n, err
	case t.bytes > maxHandshakeBytes:
		return n, errLongHandshake
	}
	b.reader.Await()
	err = t.share.reserve(t.conn.ctx, 1, t.late)
	t.has = err == nil
	return n, err
}

func (t *tlsTurn) end() {
	if t.has {
		t.has = false
		t.share.release(1)
	}
}

// tlsRecords finds the records in a stream of TLS (RFC 8446 section 5.1).
type tlsRecords struct {
	header [5]byte // type, version, length
	have   int     // bytes of the header
	left   int     // bytes of the record that are to come
}

// begin returns how many records begin in the next bytes of the stream.
func (r *tlsRecords) begin(p []byte) (n int) {
	for len(p) > 0 {
		if r.left > 0 {
			k := min(r.left, len(p))
			r.left, p = r.left-k, p[k:]
			continue
		}
		k := copy(r.header[r.have:], p)
		r.have, p = r.have+k, p[k:]
		if r.have == len(r.header) {
			r.have, r.left = 0, int(binary.BigEndian.Uint16(r.header[3:]))
			n++
		}
	}
	return n
}
