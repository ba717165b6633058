package confproto

import (
	"bytes"
	"fmt"

	xdr2 "github.com/davecgh/go-xdr/xdr2"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Request has the arguments of CONF_RDMA: config_rdma_req of draft section 6.2. Sizes are in bytes
// and count the whole Send, including the RPC-over-RDMA header.
type Request struct {
	MaxCallSendSize  uint32 // the largest call that the client wants to send inline
	MaxReplySendSize uint32 // the largest reply that the client accepts inline
	MaxRDMARead      uint32 // RDMA Reads that the server may have under way at the client; 0: none
}

// Reply has the results of CONF_RDMA: config_rdma_reply of draft section 6.2.
type Reply struct {
	MaxCallSendSize uint32 // the largest call that the server accepts inline
	Align           uint32 // alignment of the server's receive buffers in bytes; 0: none
	MaxRDMARead     uint32 // RDMA Reads that the client may have under way at the server; 0: none
}

// messageLen is the length of either message in bytes: three words.
const messageLen = 12

// MarshalXDR encodes the message.
func (r *Request) MarshalXDR(e *xdr.Encoder) { marshal(e, r) }

// UnmarshalXDR decodes the message.
func (r *Request) UnmarshalXDR(d *xdr.Decoder) { unmarshal(d, r) }

// MarshalXDR encodes the message.
func (r *Reply) MarshalXDR(e *xdr.Encoder) { marshal(e, r) }

// UnmarshalXDR decodes the message.
func (r *Reply) UnmarshalXDR(d *xdr.Decoder) { unmarshal(d, r) }

func marshal(e *xdr.Encoder, message any) {
	var b bytes.Buffer
	if _, err := xdr2.Marshal(&b, message); err != nil {
		e.Fail(err)
		return
	}
	e.Raw(b.Bytes())
}

func unmarshal(d *xdr.Decoder, message any) {
	b := d.Raw(messageLen)
	if d.Err() != nil {
		return
	}
	if _, err := xdr2.UnmarshalLimited(bytes.NewReader(b), message, messageLen); err != nil {
		d.Fail(fmt.Errorf("%w: %w", xdr.ErrValue, err))
	}
}
