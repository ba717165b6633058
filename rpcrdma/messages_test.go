package rpcrdma_test

import (
	"encoding/binary"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// header returns a header of the right version.
func header(xid uint32, typ rpcrdma.Type) *rpcrdma.Header {
	return &rpcrdma.Header{XID: xid, Version: rpcrdma.ProtocolVersion, Credits: 32, Type: typ}
}

// callMessage returns an encoded call of the test program.
func callMessage(xid, proc uint32, args oncrpc.Marshaler) xdr.Message {
	var e xdr.Encoder
	h := oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram, Version: 1,
		Procedure: proc}
	h.Encode(&e)
	if args != nil {
		args.MarshalXDR(&e)
	}
	return e.Message()
}

// callBytes returns a whole encoded call, with its bulk data inline.
func callBytes(xid, proc uint32, args oncrpc.Marshaler) []byte {
	m := callMessage(xid, proc, args)
	return m.AppendTo(nil)
}

// replyHeader returns the header of a successful reply (RFC 5531 section 9).
func replyHeader(xid uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, xid)
	b = binary.BigEndian.AppendUint32(b, uint32(oncrpc.MsgReply))
	return append(b, make([]byte, 16)...) // accepted, AUTH_NONE, empty, SUCCESS
}

func be32(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}
