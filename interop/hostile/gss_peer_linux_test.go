package hostile_test

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Procedures of RPCSEC_GSS (RFC 2203 section 5).
const (
	gssData = iota
	gssInit
	gssContinue
	gssDestroy
)

// Offsets of the fields of a call with RPCSEC_GSS (RFC 5531 section 9, RFC 2203 section 5).
const (
	atXID       = 0
	atProgram   = 12
	atVersion   = 16
	atProcedure = 20
	atGSS       = 36 // the procedure of RPCSEC_GSS
	atSeq       = 40
	atService   = 44
	atHandle    = 52
)

// opaque encodes variable-length opaque data (RFC 4506 section 4.10).
func opaque(b []byte) []byte {
	b = append(be32(uint32(len(b))), b...)
	return append(b, make([]byte, -len(b)&3)...)
}

// gssHeader returns a call up to its credential, with the next XID.
func (p *peer) gssHeader(program, procedure, proc, seq uint32, s gss.Service,
	handle []byte) []byte {
	p.xid++
	cred := append(be32(1, proc, seq, uint32(s)), opaque(handle)...)
	return append(be32(p.xid, 0, 2, program, gssVersion, procedure, uint32(oncrpc.FlavorGSS)),
		opaque(cred)...)
}

// create returns a call that makes a context, or continues making it.
func (p *peer) create(proc uint32, handle, token []byte) []byte {
	b := p.gssHeader(gssProgram, 0, proc, 0, gss.Integrity, handle)
	return append(append(b, be32(0, 0)...), opaque(token)...)
}

// rpcReply reads the next reply, over TCP or over RDMA. Over RDMA it is all inline.
func (p *peer) rpcReply(tcp bool) []byte {
	if tcp {
		n := binary.BigEndian.Uint32(p.read(4)) &^ (1 << 31)
		return p.read(int(min(n, 1<<20)))
	}
	b := p.receive()
	if !p.ok() {
		return nil
	}
	var head rpcrdma.Header
	n, err := head.Parse(b)
	if p.err = err; err == nil && head.Type == rpcrdma.TypeError {
		p.err = fmt.Errorf("RDMA_ERROR %x", b)
	}
	return b[n:]
}

// sendRPC sends a call over TCP or over RDMA.
func (p *peer) sendRPC(tcp bool, b []byte) {
	if tcp {
		p.write(record(true, b)...)
	} else {
		p.xid = binary.BigEndian.Uint32(b)
		p.send(p.call(0, noChunks, b))
	}
}

// said returns "SUCCESS", or the error in a reply.
func said(reply []byte) string {
	d := xdr.NewDecoder(reply)
	d.Raw(8)
	if d.Uint32() == 1 {
		d.Uint32()
		return oncrpc.AuthStat(d.Uint32()).String()
	}
	d.Uint32()
	d.Opaque(400)
	stat := oncrpc.AcceptStat(d.Uint32())
	if d.Err() != nil {
		return fmt.Sprintf("%x", reply)
	}
	return stat.String()
}

// creation is the reply to a call that makes a context.
type creation struct {
	handle []byte
	major  gss.Major
	token  []byte
}

// created reads the reply to create.
func (p *peer) created(tcp bool) (c creation) {
	d := xdr.NewDecoder(p.rpcReply(tcp))
	d.Raw(16) // up to the verifier's body
	d.Opaque(400)
	d.Uint32()
	c.handle, c.major = d.Opaque(400), gss.Major(d.Uint32())
	d.Raw(8)
	c.token = d.Opaque(1 << 20)
	if p.ok() {
		p.err = d.Finish()
	}
	return c
}

// context makes a context for a principal. Without last it stays half made.
func (p *peer) context(r *realm, principal string, tcp, last bool) (made gss.Context,
	handle []byte) {
	n, err := r.mechanism.Initiator(principal).Initiate(p.ctx, "test@server")
	proc := uint32(gssInit)
	var c creation
	for p.ok() && err == nil {
		var token []byte
		if token, made, err = n.Step(p.ctx, c.token); err != nil || made != nil {
			break
		}
		p.sendRPC(tcp, p.create(proc, c.handle, token))
		c = p.created(tcp)
		if proc = gssContinue; !last {
			break
		}
	}
	if p.ok() {
		p.err = err
	}
	return made, c.handle
}

// protected returns a call of procedure 1 in a context.
func (p *peer) protected(made gss.Context, handle []byte, seq uint32, s gss.Service,
	args []byte) []byte {
	b := p.gssHeader(gssProgram, gssEcho, gssData, seq, s, handle)
	mic, err := made.AppendMIC(nil, [][]byte{b})
	b = append(append(b, be32(uint32(oncrpc.FlavorGSS))...), opaque(mic)...)
	body := append(be32(seq), args...)
	switch s {
	case gss.None:
		b = append(b, args...)
	case gss.Integrity:
		mic, err = made.AppendMIC(nil, [][]byte{body})
		b = append(append(b, opaque(body)...), opaque(mic)...)
	case gss.Privacy:
		body, err = made.AppendWrap(nil, [][]byte{body})
		b = append(b, opaque(body)...)
	}
	if p.ok() {
		p.err = err
	}
	return b
}
