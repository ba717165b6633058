package hostile_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// peer is the bad end of a connection. It sends exactly what an attack tells it to. After the first
// error, which it keeps, it does nothing: an attacker expects to be thrown out.
type peer struct {
	ctx   context.Context // ends with the attack, and the connection with it
	host  string          // its address
	way   way
	verbs *verbs   // either this,
	conn  net.Conn // or these two
	in    *bufio.Reader
	port  uint16 // of the service, over RoCE
	err   error

	file   nfs3.FH
	limits limits
	rdma   string // the server's address, by which SCTP has its port

	credits int // that it has been granted, over RDMA

	msn [3]uint32 // of the latest message on each queue
	xid uint32    // of the latest call
}

// newPeer makes a peer of a server, without a connection.
func newPeer(ctx context.Context, s *site, host string, w way) *peer {
	return &peer{ctx: ctx, host: host, way: w, file: s.file, limits: s.limits, rdma: s.rdma}
}

// ok reports whether the connection is still up.
func (p *peer) ok() bool { return p.err == nil }

// stay waits for the end of the attack, and reads nothing.
func (p *peer) stay() {
	if p.ok() && p.verbs != nil {
		p.deafen()
		p.listen()
	} else if p.ok() {
		<-p.ctx.Done()
		p.err = p.ctx.Err()
	}
}

// listen reads everything until the connection ends.
func (p *peer) listen() {
	switch {
	case !p.ok():
	case p.verbs != nil:
		<-p.verbs.Done()
		p.err = p.verbs.Err()
	default:
		_, p.err = io.Copy(io.Discard, p.in)
		p.err = errors.Join(p.err, io.EOF)
	}
}

// write sends bytes as they are.
func (p *peer) write(b ...byte) {
	if p.ok() {
		_, p.err = p.conn.Write(b)
	}
}

// read returns the next n bytes.
func (p *peer) read(n int) []byte {
	b := make([]byte, n)
	if p.ok() {
		_, p.err = io.ReadFull(p.in, b)
	}
	return b
}

// startupRequest is an MPA request of revision 1 that wants CRCs (RFC 5044 section 7.1).
const startupRequest = "MPA ID Req Frame\x40\x01\x00\x00"

// startup makes it an iWARP connection. The inline size is the default for peers without private
// data.
func (p *peer) startup() {
	p.write([]byte(startupRequest)...)
	reply := p.read(len(startupRequest))
	p.read(int(binary.BigEndian.Uint16(reply[18:])))
}

// frame returns the FPDU of a segment (RFC 5044 section 4.1).
func frame(h ddp.Header, payload []byte) []byte {
	h.Version = ddp.Version
	b := h.Append(make([]byte, 2, 64+len(payload)))
	b = append(b, payload...)
	binary.BigEndian.PutUint16(b, uint16(len(b)-2))
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// next returns the header of the next message of a kind. Its other segments have the same MSN.
func (p *peer) next(op rdmap.Opcode) ddp.Header {
	p.msn[op.Queue()]++
	return ddp.Header{
		Last: true, Control: rdmap.Control(ddp.Version, op), Queue: op.Queue(), MSN: p.msn[op.Queue()],
	}
}

// message returns an FPDU with a whole untagged message.
func (p *peer) message(op rdmap.Opcode, payload ...byte) []byte {
	return frame(p.next(op), payload)
}

// tagged returns an FPDU with a segment for one of the server's windows.
func tagged(op rdmap.Opcode, stag uint32, offset uint64, payload []byte) []byte {
	return frame(ddp.Header{
		Tagged: true, Last: true, Control: rdmap.Control(ddp.Version, op), STag: transport.STag(stag),
		Offset: offset,
	}, payload)
}

// segment reads an FPDU.
func (p *peer) segment() (h ddp.Header, payload []byte) {
	n := int(binary.BigEndian.Uint16(p.read(2)))
	b := p.read((n+2+3)/4*4 - 2 + 4)
	if !p.ok() {
		return ddp.Header{}, nil
	}
	h, payload, p.err = ddp.Parse(b[:n])
	return h, payload
}

// send sends messages, by either kind of connection.
func (p *peer) send(messages ...[]byte) {
	if p.verbs == nil {
		var b []byte
		for _, m := range messages {
			b = append(b, p.message(rdmap.OpSend, m...)...)
		}
		p.write(b...)
		return
	}
	if !p.ok() {
		return
	}
	var wrs []*transport.WorkRequest
	for _, m := range messages {
		wrs = append(wrs, p.sends(m))
	}
	p.post(wrs...)
}

// receive returns the next message, by either kind of connection.
func (p *peer) receive() (message []byte) {
	for p.ok() && p.verbs == nil {
		h, b := p.segment()
		_, op := rdmap.ParseControl(h.Control)
		if p.ok() && (op == rdmap.OpSend || op == rdmap.OpSendInvalidate) {
			return b
		}
	}
	if !p.ok() {
		return nil
	}
	select {
	case message = <-p.verbs.arrived:
	case <-p.verbs.Done():
		p.err = p.verbs.Err()
	}
	return message
}

// readRequest waits for the server's next RDMA Read, and skips what comes before it.
func (p *peer) readRequest() (r rdmap.ReadRequest) {
	for p.ok() {
		h, payload := p.segment()
		if _, op := rdmap.ParseControl(h.Control); op == rdmap.OpReadRequest && p.ok() {
			r, p.err = rdmap.ParseReadRequest(payload)
			return r
		}
	}
	return r
}

// call returns the message with a call and the chunks that it offers. It grants the credits that
// the server asks for.
func (p *peer) call(typ rpcrdma.Type, lists chunks.Lists, message []byte) []byte {
	h := rpcrdma.Header{
		XID: p.xid, Version: rpcrdma.ProtocolVersion, Credits: 64, Type: typ, Lists: lists,
	}
	return append(h.Append(nil), message...)
}

// rpc returns an NFS call without credentials, with the next XID.
func (p *peer) rpc(proc nfs3.Proc, args ...[]byte) []byte {
	return p.rpcOf(nfs3.Program, nfs3.Version, uint32(proc), args...)
}

// rpcOf returns a call of any program.
func (p *peer) rpcOf(program, version, proc uint32, args ...[]byte) []byte {
	p.xid++
	b := be32(p.xid, 0, 2, program, version, proc, 0, 0, 0, 0)
	for _, a := range args {
		b = append(b, a...)
	}
	return b
}

// readArgs returns the arguments of READ; writeArgs those of WRITE without the data.
func (p *peer) readArgs(n int) []byte {
	return append(p.handle(), be32(0, 0, uint32(n))...)
}

func (p *peer) writeArgs(n int) []byte {
	return append(p.handle(), be32(0, 0, uint32(n), uint32(nfs3.Unstable), uint32(n))...)
}

func (p *peer) handle() []byte {
	b := append(be32(uint32(p.file.Len())), p.file.Bytes()...)
	return append(b, make([]byte, -len(b)&3)...)
}

// record returns a fragment of a record over TCP (RFC 5531 section 11).
func record(last bool, b []byte) []byte {
	mark := uint32(len(b))
	if last {
		mark |= 1 << 31
	}
	return append(be32(mark), b...)
}

// be32 encodes words.
func be32(words ...uint32) (b []byte) {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}
