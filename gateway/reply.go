package gateway

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// answer sends the reply that has come, or SYSTEM_ERR if it is malformed.
func (c *call) answer() error {
	whole := c.Reply
	inline := whole.Raw(whole.Remaining())
	if len(inline) < 4 {
		c.fail(oncrpc.ErrMalformedReply)
		return oncrpc.ErrMalformedReply
	}
	if binary.BigEndian.Uint32(inline) != c.xid {
		binary.BigEndian.PutUint32(inline, c.xid)
	}
	m := xdr.Message{Inline: inline}
	if c.landing > 0 && c.landed() {
		m.Bulk = c.item[:]
	} else if err := whole.Finish(); err != nil { // there is bulk data where none may be
		err = fmt.Errorf("%w: %w", oncrpc.ErrMalformedReply, err)
		c.fail(err)
		return err
	}
	atomic.AddUint64(&c.g.stats.Replies, 1)
	c.reply(m)
	return nil
}

// landed makes the bulk data of a reply that came beside the message a bulk item. It returns false
// if there is none.
func (c *call) landed() bool {
	d := c.Reply
	if accepted(&d) != oncrpc.Success || nfs3.Status(d.Uint32()) != nfs3.OK {
		return false
	}
	var attr nfs3.PostOpAttr
	attr.UnmarshalXDR(&d)
	if c.proc == nfs3.ProcRead {
		d.Uint32() // count
		d.Uint32() // eof
	}
	at, before := d.Position()+4, d.Remaining()-4
	b := d.Bulk(c.landing)
	if d.Err() != nil || d.Remaining() != before || b.Len() == 0 || !b.Ready() {
		return false // it is inline, if anywhere
	}
	data, err := b.Bytes(c.session.ctx)
	if err != nil {
		return false
	}
	c.carry(at, data)
	return true
}

// unavailable reports whether the server does not have the program.
func (c *call) unavailable() bool {
	d := c.Reply
	return accepted(&d) == oncrpc.ProgUnavail
}

// denied is returned by accepted for a call that was not accepted.
const denied = oncrpc.AcceptStat(1<<32 - 1)

// accepted decodes the header of a reply and returns its accept_stat.
func accepted(d *xdr.Decoder) oncrpc.AcceptStat {
	d.Uint32() // xid
	kind := oncrpc.MsgType(d.Uint32())
	state := d.Uint32()
	if kind != oncrpc.MsgReply || state != 0 {
		return denied
	}
	d.Uint32() // flavour of the verifier
	d.Opaque(oncrpc.MaxAuthBody)
	if s := oncrpc.AcceptStat(d.Uint32()); d.Err() == nil {
		return s
	}
	return denied
}
