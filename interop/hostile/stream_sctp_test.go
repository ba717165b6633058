package hostile_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
)

// fpdus lets an attack that writes and reads FPDUs have its segments travel by SCTP.
type fpdus struct {
	net.Conn
	llp    ddp.LLP
	unread []byte
}

// dialSCTP opens a session, in an association of its own.
func (p *peer) dialSCTP(s *site) {
	var d *sctp.Dialer
	if d, p.err = sctp.NewDialer(s.sctpFrom(p.host)); !p.ok() {
		return
	}
	if p.connect(d.DialContext(p.ctx, "sctp", s.rdma)); !p.ok() {
		return
	}
	conn := p.conn.(*sctp.Conn)
	_ = conn.SetDeadline(time.Now().Add(patience))
	if p.err = conn.WriteFrame(&mpa.Frame{}); p.ok() {
		_, p.err = conn.ReadFrame(new(mpa.Frame))
	}
	p.conn = &fpdus{Conn: conn, llp: conn.LLP(time.Hour)}
}

// Write sends the segments of whole FPDUs.
func (f *fpdus) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		length := int(binary.BigEndian.Uint16(b))
		for !f.llp.Append(b[2:2+length], &ddp.Payload{}, 0, 0) {
			if _, err := f.llp.Wait(new(sync.Mutex)); err != nil {
				return 0, err
			}
		}
		b = b[(2+length+3)/4*4+4:]
	}
	_, err := f.llp.Flush()
	return n, err
}

// Read returns bytes of FPDUs with the segments that have come.
func (f *fpdus) Read(b []byte) (int, error) {
	for len(f.unread) == 0 {
		if err := f.llp.Receive(f); err != nil {
			return 0, err
		}
	}
	n := copy(b, f.unread)
	f.unread = f.unread[n:]
	return n, nil
}

// Segment implements ddp.Sink.
func (f *fpdus) Segment(segment []byte) error {
	h, payload, err := ddp.Parse(segment)
	f.unread = append(f.unread, frame(h, payload)...)
	return err
}

// Placed, and the others, implement ddp.Sink for what places nothing.
func (f *fpdus) Placed([]byte, int) error  { return io.ErrNoProgress }
func (f *fpdus) Unfinished() (uint64, int) { return 0, 0 }
func (f *fpdus) Ready() bool               { return true }
func (f *fpdus) ExpectsMore() bool         { return false }
func (f *fpdus) Return()                   {}
func (f *fpdus) Lend(dst [][]byte, _ []byte, _, _ int) ([][]byte, bool) {
	return dst, false
}
