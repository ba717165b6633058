package oncrpc

import "github.com/rpcrdma/go-rpcrdma/xdr"

// Decode and DecodeReply are for tests against another codec.
func (h *CallHeader) Decode(d *xdr.Decoder) error { return h.decode(d) }

func DecodeReply(d *xdr.Decoder) error { return decodeReply(d, nil, nil) }
