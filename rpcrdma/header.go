package rpcrdma

import "github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"

// Header is the RPC-over-RDMA header at the beginning of every message: struct rdma_msg of draft
// section 4.3. Append encodes it, Parse decodes it.
type Header = wire.Header

// ProtocolVersion is the version of the header (draft section 4.1).
const ProtocolVersion = wire.ProtocolVersion

// Type is the type of a message: rdma_proc of draft section 4.3.
type Type = wire.Type

// The message types.
const (
	TypeMsg   = wire.TypeMsg   // RDMA_MSG: an RPC message follows the header
	TypeNoMsg = wire.TypeNoMsg // RDMA_NOMSG: the RPC message is in a chunk
	TypeMsgP  = wire.TypeMsgP  // RDMA_MSGP: like RDMA_MSG, with padding in the message (Draft)
	TypeDone  = wire.TypeDone  // RDMA_DONE: the client has read the chunks of a reply (Draft)
	TypeError = wire.TypeError // RDMA_ERROR: there was an error in a header or its chunks
)

// ErrCode says what was wrong with a header: rpc_rdma_errcode of draft section 4.3.
type ErrCode = wire.ErrCode

// The error codes.
const (
	ErrVers  = wire.ErrVers  // ERR_VERS: version not supported
	ErrChunk = wire.ErrChunk // ERR_CHUNK: the header or its chunks are invalid
)

// Inline sizes in bytes.
const (
	// DefaultInline is that towards a peer that sends no private data (RFC 8166 section 3.3.2, RFC
	// 8797 section 4).
	DefaultInline = wire.DefaultInline
	// MaxInline is the largest one.
	MaxInline = wire.MaxInline
)

// Errors in what a peer has sent.
var (
	// ErrShort: a message is shorter than the four words of every header.
	ErrShort = wire.ErrShort
	// ErrVersion: a header has another version than 1.
	ErrVersion = wire.ErrVersion
	// ErrMalformed: a header cannot be decoded, or has contents that are not allowed.
	ErrMalformed = wire.ErrMalformed
	// ErrXID: rdma_xid differs from the XID of the RPC message (draft section 4.1).
	ErrXID = wire.ErrXID
	// ErrReplyReadList: a reply with a read list, which RFC 8166 does not allow (section 4.3.1).
	ErrReplyReadList = wire.ErrReplyReadList
	// ErrRoundUp: a write chunk came back longer than it was offered, by the XDR round-up. Only the
	// draft counts that (section 3.7).
	ErrRoundUp = wire.ErrRoundUp
)
