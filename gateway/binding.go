package gateway

import (
	"encoding/binary"
	"math"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// replyHeader is the longest header in bytes of a reply to a call that is not authenticated by
// RPCSEC_GSS.
const replyHeader = 6*4 + oncrpc.MaxAuthBody

// longestPath is the room in bytes for the path of READLINK: one byte more than the longest path of
// Linux.
const longestPath = 4096

// layOut decides how a call and its reply may travel. It may lower the count in p. It reports
// whether the call has one of the flavours AUTH_NONE and AUTH_SYS. For others the transaction id
// must stay: the checksum of RPCSEC_GSS covers it (RFC 2203 section 5.3.1).
func (c *call) layOut(p []byte) (plain bool) {
	c.Call.Inline = p
	c.MaxReply = replyHeader + 8 // the lowest and highest version
	var d xdr.Decoder
	d.Reset(p, nil)
	d.Uint32() // xid
	d.Uint32() // mtype
	rpc := d.Uint32()
	program, version, procedure := d.Uint32(), d.Uint32(), d.Uint32()
	if d.Err() != nil || rpc != oncrpc.Version {
		return false // the server will answer with an error
	}
	c.program, c.version, c.procedure = program, version, procedure
	flavor := oncrpc.AuthFlavor(d.Uint32())
	d.Opaque(oncrpc.MaxAuthBody)
	d.Uint32() // flavour of the verifier
	d.Opaque(oncrpc.MaxAuthBody)
	plain = d.Err() == nil && (flavor == oncrpc.FlavorNone || flavor == oncrpc.FlavorSys)
	if plain && program == nfs3.Program && version == nfs3.Version &&
		c.bind(nfs3.Proc(procedure), p, &d) {
		return plain
	}
	c.MaxReply = c.g.cfg.MaxReply + headroom
	return plain
}

// bind lays out a call of NFS version 3 by its binding (RFC 8267). d is at the arguments. If these
// cannot be decoded, bind returns false and has changed nothing.
func (c *call) bind(proc nfs3.Proc, p []byte, d *xdr.Decoder) bool {
	if proc >= nfs3.Procs {
		return true // the server will answer with an error
	}
	c.proc = proc
	n := proc.Info().MaxReply
	switch proc {
	case nfs3.ProcRead:
		d.Opaque(nfs3.FHSize)
		d.Uint64() // offset
		count, ok := c.limit(p, d)
		if !ok {
			return false
		}
		c.landing = count
	case nfs3.ProcReadLink:
		c.landing = longestPath
	case nfs3.ProcWrite:
		d.Opaque(nfs3.FHSize)
		d.Uint64() // offset
		d.Uint32() // count
		d.Uint32() // stable
		if !c.bulk(p, d) {
			return false
		}
	case nfs3.ProcSymlink:
		d.Opaque(nfs3.FHSize)
		d.Opaque(math.MaxInt32) // name
		var set nfs3.Sattr
		set.UnmarshalXDR(d)
		if !c.bulk(p, d) {
			return false
		}
	case nfs3.ProcReadDir, nfs3.ProcReadDirPlus:
		d.Opaque(nfs3.FHSize)
		d.Uint64() // cookie
		d.Fixed(nfs3.VerifierSize)
		if proc == nfs3.ProcReadDirPlus {
			d.Uint32() // dircount
		}
		count, ok := c.limit(p, d)
		if !ok {
			return false
		}
		n += count
	}
	c.MaxReply = replyHeader + n
	return true
}

// limit decodes a count at the end of the arguments, and lowers it to MaxReply.
func (c *call) limit(p []byte, d *xdr.Decoder) (count int, ok bool) {
	at := d.Position()
	asked := d.Uint32()
	if d.Finish() != nil {
		return 0, false
	}
	if limit := uint32(c.g.cfg.MaxReply); asked > limit {
		binary.BigEndian.PutUint32(p[at:], limit)
		asked = limit
	}
	return int(asked), true
}

// bulk decodes bulk data at the end of the arguments, and makes it a bulk item of the call.
func (c *call) bulk(p []byte, d *xdr.Decoder) bool {
	at := d.Position() + 4
	data := d.Opaque(math.MaxInt32)
	if d.Finish() != nil {
		return false
	}
	if len(data) > 0 {
		c.carry(at, data)
		c.Call = xdr.Message{Inline: p[:at:at], Bulk: c.item[:]}
	}
	return true
}

// carry makes data, at a position of a message, the bulk item of the message.
func (c *call) carry(position int, data []byte) {
	c.data[0] = data
	c.item[0] = xdr.BulkItem{Position: position, Len: len(data), Data: c.data[:]}
}
