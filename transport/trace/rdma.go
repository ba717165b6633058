package trace

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// Loopback traces all connections that a fabric makes from now on.
func (w *Writer) Loopback(f *loopback.Fabric) {
	if w == nil {
		return
	}
	f.Observe(func(dialing, listening transport.Info) loopback.Observer {
		return w.RDMA(dialing, listening)
	})
}

// RDMA shows a connection of a provider without a wire as iWARP over TCP with CRC32C. It is a
// loopback.Observer. Its methods must not be called concurrently.
type RDMA struct {
	s     *stream // nil: nothing is traced
	sends [2]uint32
	reads [2]uint32
	fpdu  []byte
}

// maxPayload is the most bytes of a message in a DDP segment, so that an FPDU fits in a TCP
// segment.
const maxPayload = maxSegment - 32

// RDMA begins a connection between two ends. It shows their private data in startup frames of MPA,
// revision 1 (RFC 5044 section 7.1). The PrivateData in each Info is what came from the other end.
func (w *Writer) RDMA(dialing, listening transport.Info) *RDMA {
	if w == nil || w.over.Load() {
		return new(RDMA)
	}
	r := &RDMA{s: w.open(dialing.LocalAddr, listening.LocalAddr)}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.startup(client, &mpa.Frame{CRC: true, Revision: 1, PrivateData: listening.PrivateData})
	r.startup(server, &mpa.Frame{
		Reply: true, CRC: true, Revision: 1, PrivateData: dialing.PrivateData,
	})
	w.flush()
	return r
}

// startup adds a startup frame. Private data too long for a frame is cut.
func (r *RDMA) startup(from int, f *mpa.Frame) {
	f.PrivateData = f.PrivateData[:min(len(f.PrivateData), mpa.MaxPrivateData)]
	b, _ := f.Append(nil) // fails only for longer private data
	r.s.data(from, b)
}

// Executed adds a work request that was carried out for one end. The memory in Local has what was
// sent or read. OpInvalidate adds nothing.
func (r *RDMA) Executed(forDialing bool, wr *transport.WorkRequest) {
	if r.s == nil || r.s.w.over.Load() {
		return
	}
	w := r.s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	from := server
	if forDialing {
		from = client
	}
	switch wr.Op {
	case transport.OpSend, transport.OpSendInvalidate:
		r.send(from, wr)
	case transport.OpWrite:
		r.tagged(from, rdmap.OpWrite, wr.Remote, wr.Local)
	case transport.OpRead:
		r.read(from, wr)
	}
	w.flush()
}

// Ended adds the end of the connection.
func (r *RDMA) Ended() {
	if r.s == nil {
		return
	}
	w := r.s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	r.s.finish(client, flagFIN)
	r.s.finish(server, flagFIN)
	w.flush()
}

func (r *RDMA) send(from int, wr *transport.WorkRequest) {
	op := rdmap.OpSend
	if wr.Op == transport.OpSendInvalidate {
		op = rdmap.OpSendInvalidate
	}
	if wr.Flags&transport.Solicited != 0 {
		op += rdmap.OpSendSE - rdmap.OpSend
	}
	r.sends[from]++
	h := ddp.Header{Queue: ddp.QueueSend, MSN: r.sends[from]}
	if op.Invalidates() {
		h.ULP = uint32(wr.Invalidate)
	}
	r.message(from, op, h, wr.Local)
}

// read adds a Read Request and its response, with a made-up steering tag.
func (r *RDMA) read(from int, wr *transport.WorkRequest) {
	r.reads[from]++
	sink := transport.Remote{STag: transport.STag(r.reads[from])}
	request := rdmap.ReadRequest{
		SinkSTag: sink.STag, Len: uint32(transport.TotalLen(wr.Local)),
		SourceSTag: wr.Remote.STag, SourceOffset: wr.Remote.Offset,
	}
	h := ddp.Header{Queue: ddp.QueueReadRequest, MSN: r.reads[from]}
	r.message(from, rdmap.OpReadRequest, h, []transport.Slice{{Bytes: request.Append(nil)}})
	r.tagged(1-from, rdmap.OpReadResponse, sink, wr.Local)
}

func (r *RDMA) tagged(from int, op rdmap.Opcode, to transport.Remote, list []transport.Slice) {
	r.message(from, op, ddp.Header{Tagged: true, STag: to.STag, Offset: to.Offset}, list)
}

// message adds the segments of a message, each in an FPDU.
func (r *RDMA) message(from int, op rdmap.Opcode, h ddp.Header, list []transport.Slice) {
	h.Version = ddp.Version
	h.Control = rdmap.Control(h.Version, op)
	left := transport.TotalLen(list)
	var piece []byte
	for !h.Last && r.s.w.err == nil {
		n := min(left, maxPayload)
		left -= n
		h.Last = left == 0
		b := h.Append(append(r.fpdu[:0], 0, 0))
		for need := n; need > 0; {
			if len(piece) == 0 {
				piece, list = list[0].Bytes, list[1:]
			}
			k := min(need, len(piece))
			b = append(b, piece[:k]...)
			piece = piece[k:]
			need -= k
		}
		r.fpdu = seal(b)
		r.s.data(from, r.fpdu)
		h.MO += uint32(n)
		h.Offset += uint64(n)
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal makes an FPDU of b, which is two bytes for the length and a ULPDU (RFC 5044 section 4.1).
func seal(b []byte) []byte {
	const lengthLen, align = 2, 4
	binary.BigEndian.PutUint16(b, uint16(len(b)-lengthLen))
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}
