package wire

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Message is what follows the header of an RDMA_MSG or RDMA_MSGP.
type Message struct {
	Body    []byte
	More    []byte // the part in the second buffer of the receive
	Padding xdr.Padding
}

// Len returns the length in bytes, with padding.
func (m *Message) Len() int { return len(m.Body) + len(m.More) }

// Decode sets d to the beginning of the message, with data from chunks.
func (m *Message) Decode(d *xdr.Decoder, chunks []xdr.Chunk) {
	d.Reset(m.Body, chunks)
	m.DecodeRest(d)
}

// DecodeRest sets up d, which is at the beginning of Body, for what else the message has.
func (m *Message) DecodeRest(d *xdr.Decoder) {
	if m.More != nil {
		d.AppendInline(m.More)
	}
	if m.Padding.Align > 0 {
		d.SetPadding(m.Padding)
	}
}
