package rpcrdma_test

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// malformed is a message with something wrong, and what becomes of it.
type malformed struct {
	name    string
	msg     func(xid uint32) []byte
	rfc8166 verdict
	draft   *verdict // where it differs
	mute    *outcome // if it differs at an end that serves nothing
}

// outcome is what becomes of m where no call of the end waits for it.
func (m *malformed) outcome(d rpcrdma.Dialect, serves bool) outcome {
	if !serves && m.mute != nil {
		return *m.mute
	}
	return m.verdict(d).outcome
}

func (m *malformed) verdict(d rpcrdma.Dialect) verdict {
	if d == rpcrdma.Draft && m.draft != nil {
		return *m.draft
	}
	return m.rfc8166
}

// verdict is what one dialect says.
type verdict struct {
	outcome
	// ends is the error of the pending call with the message's XID, if the message is taken for its
	// reply. Otherwise the call does not notice.
	ends error
	done bool // an RDMA_DONE answers the read list of that reply
}

// outcome is the reaction of an end to a message that has the XID of none of its calls.
type outcome struct {
	answer func(xid, grant uint32) []byte // the whole Send; nil: no answer
	count  rpcrdma.Stats
	rpc    bool // the test program answers
}

// asked is the grant that all of the messages ask for.
const asked = 32

// The answers and the silences that there are (draft section 4.2, RFC 8166 section 4.5;
// docs/readings.md, 5).
var (
	refusedHeader = outcome{answer: errChunk, count: rpcrdma.Stats{Malformed: 1, ErrorsSent: 1}}
	refusedCall   = outcome{answer: errChunk, count: rpcrdma.Stats{Malformed: 1, ErrorsSent: 1, CallsReceived: 1}}
	otherVersion  = outcome{answer: errVers, count: rpcrdma.Stats{BadVersion: 1, ErrorsSent: 1}}
	ignored       = outcome{count: rpcrdma.Stats{Malformed: 1}}
	strayReply    = outcome{count: rpcrdma.Stats{UnknownXID: 1}}
	strayError    = outcome{count: rpcrdma.Stats{UnknownXID: 1, ErrorsRecv: 1}}
	strayDone     = outcome{count: rpcrdma.Stats{DonesIgnored: 1}}
)

// errChunk is the RDMA_ERROR with ERR_CHUNK, byte for byte.
func errChunk(xid, grant uint32) []byte { return be32(xid, 1, grant, 4, 2) }

// errVers is the RDMA_ERROR with ERR_VERS: version 1 is all that there is.
func errVers(xid, grant uint32) []byte { return be32(xid, 1, grant, 4, 1, 1, 1) }

// served is an RPC reply without chunks.
func served(reply ...uint32) outcome { return servedWith([]uint32{0, 0, 0}, reply...) }

// servedWith is an RPC reply after chunk lists.
func servedWith(lists []uint32, reply ...uint32) outcome {
	return outcome{rpc: true, count: rpcrdma.Stats{CallsReceived: 1}, answer: func(xid, grant uint32) []byte {
		b := be32(append([]uint32{xid, 1, grant, 0}, lists...)...)
		return append(append(b, be32(xid, 1)...), be32(reply...)...)
	}}
}

// padded is what an RDMA_MSGP comes to that is understood.
func (f outcome) padded() outcome {
	f.count.Padded = 1
	return f
}

// RPC replies, after XID and REPLY (RFC 5531 section 9).
var (
	rpcSuccess     = []uint32{0, 0, 0, 0}
	rpcGarbageArgs = []uint32{0, 0, 0, 4}
	rpcProcUnavail = []uint32{0, 0, 0, 3}
	rpcProgUnavail = []uint32{0, 0, 0, 1}
	rpcMismatch    = []uint32{1, 0, 2, 2}
	rpcBadCred     = []uint32{1, 1, 1}
	rpcBadVerf     = []uint32{1, 1, 3}
)

// head is a header of version 1 that goes on with w.
func head(typ rpcrdma.Type, w ...uint32) func(uint32) []byte {
	return headOf(rpcrdma.ProtocolVersion, typ, w...)
}

func headOf(version uint32, typ rpcrdma.Type, w ...uint32) func(uint32) []byte {
	return func(xid uint32) []byte {
		return append(be32(xid, version, asked, uint32(typ)), be32(w...)...)
	}
}

// withCall adds a call of procNull to a message.
func withCall(msg func(uint32) []byte) func(uint32) []byte {
	return func(xid uint32) []byte { return append(msg(xid), callBytes(xid, procNull, nil)...) }
}

// withReply adds a reply to a message.
func withReply(msg func(uint32) []byte) func(uint32) []byte {
	return func(xid uint32) []byte { return append(msg(xid), replyHeader(xid)...) }
}

// readWords is an entry of a read list, of memory that is not there.
func readWords(position, length uint32) []uint32 { return []uint32{1, position, 0xbad, length, 0, 0} }

// segWords is a segment of memory that is not there.
func segWords(length uint32) []uint32 { return []uint32{0xbad, length, 0, 0} }

// pastEnd is a segment of memory that goes beyond the last offset by one byte.
func pastEnd(length uint32) []uint32 { return []uint32{0xbad, length, 0xffffffff, 1 - length} }

func cat(parts ...[]uint32) []uint32 { return slices.Concat(parts...) }

// malformedMessages is every kind of message in which something is wrong, and some in which little
// is.
func malformedMessages() []malformed {
	return slices.Concat(malformedFixed(), malformedErrors(), malformedLists(), malformedReads(),
		malformedMsgP(), malformedBodies(), malformedRPC())
}

// malformedFixed are wrong in the four words that begin every header.
func malformedFixed() (all []malformed) {
	neither := verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed}
	for _, n := range []int{0, 1, 3, 4, 8, 12, 15} {
		all = append(all, malformed{
			// The XID for an answer is unknown.
			name:    fmt.Sprintf("%d bytes, no header", n),
			msg:     func(xid uint32) []byte { return head(rpcrdma.TypeMsg)(xid)[:n] },
			rfc8166: verdict{outcome: ignored},
		})
	}
	for _, typ := range []rpcrdma.Type{5, 6, 0x100, 0x80000000, 0xffffffff} {
		all = append(all,
			malformed{name: fmt.Sprintf("%v", typ), msg: head(typ), rfc8166: neither},
			malformed{name: fmt.Sprintf("%v and a call", typ), msg: withCall(head(typ, 0, 0, 0)), rfc8166: neither},
			malformed{name: fmt.Sprintf("%v and a reply", typ), msg: withReply(head(typ, 0, 0, 0)), rfc8166: neither},
		)
	}
	for _, typ := range []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg, rpcrdma.TypeMsgP} {
		all = append(all, malformed{name: fmt.Sprintf("%v, four words", typ), msg: head(typ), rfc8166: neither})
	}
	// What another version has after these words is ignored, except in an RDMA_ERROR.
	for _, version := range []uint32{0, 2, 3, 0x01000000, 0xffffffff} {
		for _, typ := range []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg, rpcrdma.TypeMsgP, rpcrdma.TypeDone, 5, 0xffffffff} {
			v := verdict{outcome: otherVersion, ends: rpcrdma.ErrVersion}
			all = append(all,
				malformed{name: fmt.Sprintf("version %d, %v, four words", version, typ), msg: headOf(version, typ), rfc8166: v},
				malformed{name: fmt.Sprintf("version %d, %v", version, typ), msg: withCall(headOf(version, typ, 0, 0, 0)), rfc8166: v},
			)
		}
	}
	for _, tail := range [][]uint32{nil, {0}, {0, 0, 0}, {0xffffffff, 0xffffffff}} {
		all = append(all, malformed{
			name:    fmt.Sprintf("RDMA_DONE for nothing, %d words behind it", len(tail)),
			msg:     head(rpcrdma.TypeDone, tail...),
			rfc8166: verdict{outcome: strayDone},
		})
	}
	return all
}

// malformedErrors are RDMA_ERRORs. They are never answered.
func malformedErrors() (all []malformed) {
	extra := []uint32{1, 2, 3, 4, 5, 6, 7, 8}
	for _, version := range []uint32{1, 0, 2, 0xffffffff} {
		for _, tt := range []struct {
			name string
			tail []uint32
			want *rpcrdma.PeerError // nil: the message is too short
		}{
			{"without a code", nil, nil},
			{"ERR_VERS", []uint32{1, 1, 1}, &rpcrdma.PeerError{rpcrdma.ErrVers, 1, 1}},
			{"ERR_VERS without versions", []uint32{1}, nil},
			{"ERR_VERS with one", []uint32{1, 1}, nil},
			{"ERR_VERS of any versions", []uint32{1, 0xffffffff, 0}, &rpcrdma.PeerError{rpcrdma.ErrVers, 0xffffffff, 0}},
			{"ERR_CHUNK", []uint32{2}, &rpcrdma.PeerError{Code: rpcrdma.ErrChunk}},
			{"ERR_CHUNK and more", cat([]uint32{2}, extra), &rpcrdma.PeerError{Code: rpcrdma.ErrChunk}},
			{"code 0", cat([]uint32{0}, extra), &rpcrdma.PeerError{Code: 0}},
			{"code 0 without its words", []uint32{0}, nil},
			{"code 3", cat([]uint32{3}, extra), &rpcrdma.PeerError{Code: 3}},
			{"code 3 with seven words", cat([]uint32{3}, extra[:7]), nil},
			{"the last code", cat([]uint32{0xffffffff}, extra), &rpcrdma.PeerError{Code: 0xffffffff}},
			{"the last code without its words", []uint32{0xffffffff}, nil},
		} {
			v := verdict{outcome: ignored, ends: rpcrdma.ErrMalformed}
			if tt.want != nil {
				v = verdict{outcome: strayError, ends: tt.want}
			}
			all = append(all, malformed{name: fmt.Sprintf("RDMA_ERROR of version %d: %s", version, tt.name), msg: headOf(version, rpcrdma.TypeError, tt.tail...), rfc8166: v})
		}
	}
	return all
}

// malformedLists have chunk lists that cannot be decoded.
func malformedLists() (all []malformed) {
	many := func(n int, entry ...uint32) []uint32 { return slices.Repeat(entry, n) }
	for _, tt := range []struct {
		name  string
		lists []uint32
	}{
		{"read list neither there nor not", []uint32{2, 0, 0}},
		{"read list neither there nor not, all bits", []uint32{0xffffffff, 0, 0}},
		{"read list goes on and does not", cat(readWords(0, 4), []uint32{2, 0, 0})},
		{"write list neither there nor not", []uint32{0, 2, 0}},
		{"write list goes on and does not", cat([]uint32{0, 1, 1}, segWords(4), []uint32{0x100, 0})},
		{"reply chunk neither there nor not", []uint32{0, 0, 2}},
		{"reply chunk neither there nor not, highest bit", []uint32{0, 0, 0x80000000}},
		{"more read segments than are taken", cat(many(chunks.MaxSegments+1, readWords(4, 0)...), []uint32{0, 0, 0})},
		{"more write chunks than are taken", cat([]uint32{0}, many(chunks.MaxSegments+1, 1, 0), []uint32{0, 0})},
		{"more segments in a write chunk than are taken", cat([]uint32{0, 1, chunks.MaxSegments + 1}, many(chunks.MaxSegments+1, segWords(1)...), []uint32{0, 0})},
		{"more segments in the reply chunk than are taken", cat([]uint32{0, 0, 1, chunks.MaxSegments + 1}, many(chunks.MaxSegments+1, segWords(1)...))},
		{"more segments in all lists than are taken", cat(many(chunks.MaxSegments-1, readWords(4, 0)...), []uint32{0, 1, 1}, segWords(1), []uint32{0, 1, 1}, segWords(1))},
		{"write chunk of more segments than there are", cat([]uint32{0, 1, 900}, segWords(1), []uint32{0, 0})},
		{"write chunk of 2^28 segments", cat([]uint32{0, 1, 1 << 28}, segWords(1), []uint32{0, 0})},
		{"write chunk of 2^32-1 segments", cat([]uint32{0, 1, 0xffffffff}, segWords(1), []uint32{0, 0})},
		{"reply chunk of more segments than there are", cat([]uint32{0, 0, 1, 900}, segWords(1))},
		{"reply chunk of 2^32-1 segments", cat([]uint32{0, 0, 1, 0xffffffff}, segWords(1))},
	} {
		for _, typ := range []rpcrdma.Type{rpcrdma.TypeMsg, rpcrdma.TypeNoMsg, rpcrdma.TypeMsgP} {
			lists := tt.lists
			if typ == rpcrdma.TypeMsgP {
				lists = cat([]uint32{64, 1024}, lists)
			}
			all = append(all, malformed{
				name:    fmt.Sprintf("%v, %s", typ, tt.name),
				msg:     withCall(head(typ, lists...)),
				rfc8166: verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed},
			})
		}
	}
	return all
}

// malformedReads are calls with malformed read lists, in an RDMA_MSG and in an RDMA_NOMSG; and some
// with valid ones.
func malformedReads() (all []malformed) {
	const callLen = 40
	none := []uint32{0, 0, 0}
	for _, tt := range []struct {
		name  string
		reads []uint32
	}{
		{"position 1", readWords(1, 4)},
		{"position 2", readWords(2, 4)},
		{"position 43", readWords(43, 4)},
		{"position 42 and no bytes", readWords(42, 0)},
		{"position past the end by a word", readWords(callLen+4, 4)},
		{"position 2^31-4", readWords(1<<31-4, 4)},
		{"position 2^31-1", readWords(1<<31-1, 4)},
		{"position 2^31", readWords(1<<31, 4)},
		{"position 2^32-4", readWords(1<<32-4, 4)},
		{"position 2^32-1", readWords(1<<32-1, 4)},
		{"overlap by a word", cat(readWords(36, 8), readWords(40, 4))},
		{"overlap by the round-up", cat(readWords(32, 5), readWords(36, 4))},
		{"overlap, the later first", cat(readWords(40, 4), readWords(36, 8))},
		{"overlap in a chunk of two segments", cat(readWords(36, 4), readWords(36, 1), readWords(40, 4))},
		{"past the end but for an earlier chunk", cat(readWords(40, 4), readWords(52, 4))},
		{"one chunk over the maximum", readWords(40, smallMessage+1)},
		{"chunk of 2^31 bytes", readWords(40, 1<<31)},
		{"chunk of 2^32-1 bytes", readWords(40, 1<<32-1)},
		{"segments that add up to 2^32", cat(readWords(40, 1<<31), readWords(40, 1<<31))},
		{"segments that add up to 2^32+4", cat(readWords(40, 1<<32-1), readWords(40, 5))},
		{"chunks that add up to 2^32+4", cat(readWords(40, 1<<32-4), readWords(44, 8))},
		{"position and length add up to 2^32", readWords(1<<31-4, 1<<31+4)},
		{"chunks that are over the maximum together", cat(readWords(40, smallMessage/2+4), readWords(40+smallMessage/2+4, smallMessage/2))},
		{"past the last offset", cat([]uint32{1, 40}, pastEnd(2))},
		{"past the last offset in the second segment", cat(readWords(40, 4), []uint32{1, 40}, pastEnd(5000))},
		{"1023 segments of 2^32-1", slices.Repeat(readWords(40, 1<<32-1), chunks.MaxSegments-1)},
	} {
		all = append(all, malformed{name: "RDMA_MSG, " + tt.name, msg: withCall(head(rpcrdma.TypeMsg, cat(tt.reads, none)...)), rfc8166: verdict{outcome: refusedCall}})
		all = append(all, malformed{
			name:    "RDMA_NOMSG, " + tt.name,
			msg:     head(rpcrdma.TypeNoMsg, cat(readWords(0, callLen), tt.reads, none)...),
			rfc8166: verdict{outcome: refusedCall, ends: rpcrdma.ErrReplyReadList},
			draft:   &verdict{outcome: refusedCall, ends: chunks.ErrMalformed, done: true},
		})
		all = append(all, malformed{
			name:    "RDMA_MSGP, " + tt.name,
			msg:     withCall(head(rpcrdma.TypeMsgP, cat([]uint32{64, 1024}, tt.reads, none)...)),
			rfc8166: verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed},
			draft:   &verdict{outcome: refusedCall.padded()},
		})
	}
	beside := outcome{answer: errChunk, count: refusedCall.count}
	noMessage := verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed}
	return append(all,
		malformed{name: "RDMA_MSG, position 0", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(0, 40), none)...)), rfc8166: verdict{outcome: beside}},
		malformed{name: "RDMA_MSG, position 0 and another", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(0, 40), readWords(40, 4), none)...)), rfc8166: verdict{outcome: beside}},
		malformed{name: "RDMA_NOMSG, no lists", msg: head(rpcrdma.TypeNoMsg, none...), rfc8166: noMessage},
		malformed{name: "RDMA_NOMSG, a call behind it", msg: withCall(head(rpcrdma.TypeNoMsg, none...)), rfc8166: noMessage},
		malformed{name: "RDMA_NOMSG, write list", msg: head(rpcrdma.TypeNoMsg, cat([]uint32{0, 1, 1}, segWords(100), []uint32{0, 0})...), rfc8166: noMessage},
		malformed{
			name:    "RDMA_NOMSG, reply chunk",
			msg:     head(rpcrdma.TypeNoMsg, cat([]uint32{0, 0, 1, 1}, segWords(100))...),
			rfc8166: noMessage, mute: &strayReply,
		},
		malformed{name: "RDMA_NOMSG, reply chunk of no segments", msg: head(rpcrdma.TypeNoMsg, 0, 0, 1, 0), rfc8166: noMessage},
		malformed{
			name: "RDMA_NOMSG, position 4 alone", msg: head(rpcrdma.TypeNoMsg, cat(readWords(4, 40), none)...),
			rfc8166: verdict{outcome: refusedHeader, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: refusedHeader, ends: chunks.ErrMalformed, done: true},
		},
		malformed{
			name: "RDMA_NOMSG, position 0 and no bytes", msg: head(rpcrdma.TypeNoMsg, cat(readWords(0, 0), none)...),
			rfc8166: verdict{outcome: refusedCall, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: refusedCall, ends: rpcrdma.ErrMalformed, done: true},
		},
		malformed{
			name: "RDMA_NOMSG, position 0 over the maximum", msg: head(rpcrdma.TypeNoMsg, cat(readWords(0, smallMessage+1), none)...),
			rfc8166: verdict{outcome: refusedCall, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: refusedCall, ends: chunks.ErrMalformed, done: true},
		},
		malformed{
			name: "RDMA_NOMSG, position 0 of 2^32 bytes", msg: head(rpcrdma.TypeNoMsg, cat(readWords(0, 1<<31), readWords(0, 1<<31), none)...),
			rfc8166: verdict{outcome: refusedCall, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: refusedCall, ends: chunks.ErrMalformed, done: true},
		},

		malformed{
			name: "RDMA_NOMSG, position 0 past the last offset", msg: head(rpcrdma.TypeNoMsg, cat([]uint32{1, 0}, pastEnd(40), none)...),
			rfc8166: verdict{outcome: refusedCall, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: refusedCall, ends: chunks.ErrMalformed, done: true},
		},
		malformed{name: "write chunk past the last offset", msg: withCall(head(rpcrdma.TypeMsg, cat([]uint32{0, 1, 1}, pastEnd(4), []uint32{0, 0})...)), rfc8166: verdict{outcome: refusedCall}},
		malformed{
			name: "second write chunk past the last offset", msg: withCall(head(rpcrdma.TypeMsg, cat([]uint32{0, 1, 1}, segWords(4), []uint32{1, 2}, segWords(4), pastEnd(1<<32-1), []uint32{0, 0})...)),
			rfc8166: verdict{outcome: refusedCall},
		},
		malformed{name: "reply chunk past the last offset", msg: withCall(head(rpcrdma.TypeMsg, cat([]uint32{0, 0, 1, 1}, pastEnd(9000))...)), rfc8166: verdict{outcome: refusedCall}},
		malformed{
			name: "RDMA_MSG, position 0 and no message behind it", msg: head(rpcrdma.TypeMsg, cat(readWords(0, 40), none)...),
			rfc8166: verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed}, draft: &verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed, done: true},
		},

		// Chunks in place of words that never go by chunk: RPC answers.
		malformed{name: "read chunk for the RPC version", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(8, 4), none)...)), rfc8166: verdict{outcome: served(rpcGarbageArgs...)}},
		malformed{name: "read chunk for the procedure", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(20, 4), none)...)), rfc8166: verdict{outcome: served(rpcGarbageArgs...)}},
		malformed{name: "read chunk for the credential", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(24, 8), none)...)), rfc8166: verdict{outcome: served(rpcBadCred...)}},
		malformed{name: "read chunk for the verifier", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(36, 4), none)...)), rfc8166: verdict{outcome: served(rpcBadVerf...)}},
		// No program asks for it, so it is not read.
		malformed{name: "read chunk of no argument", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(40, 4), none)...)), rfc8166: verdict{outcome: served(rpcSuccess...)}},

		// Odd but allowed: an empty segment has no effect.
		malformed{name: "read segment of no bytes at the last offset", msg: withCall(head(rpcrdma.TypeMsg, cat([]uint32{1, 40, 0xbad, 0, 0xffffffff, 0xffffffff}, none)...)), rfc8166: verdict{outcome: served(rpcSuccess...)}},
		malformed{name: "read segment of no bytes", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(40, 0), none)...)), rfc8166: verdict{outcome: served(rpcSuccess...)}},
		malformed{name: "read segment of no bytes past the end", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(1<<30, 0), none)...)), rfc8166: verdict{outcome: served(rpcSuccess...)}},
		malformed{name: "read segment of no bytes at position 0", msg: withCall(head(rpcrdma.TypeMsg, cat(readWords(0, 0), none)...)), rfc8166: verdict{outcome: served(rpcSuccess...)}},
		malformed{name: "write chunk of no segments", msg: withCall(head(rpcrdma.TypeMsg, 0, 1, 0, 0, 0)), rfc8166: verdict{outcome: servedWith([]uint32{0, 1, 0, 0, 0}, rpcSuccess...)}},
		malformed{name: "reply chunk of no segments", msg: withCall(head(rpcrdma.TypeMsg, 0, 0, 1, 0)), rfc8166: verdict{outcome: servedWith([]uint32{0, 0, 1, 0}, rpcSuccess...)}},
		malformed{
			name: "write and reply chunk of empty segments", msg: withCall(head(rpcrdma.TypeMsg, cat([]uint32{0, 1, 1}, segWords(0), []uint32{0, 1, 1}, segWords(0))...)),
			rfc8166: verdict{outcome: servedWith(cat([]uint32{0, 1, 1}, segWords(0), []uint32{0, 1, 1}, segWords(0)), rpcSuccess...)},
		},
		malformed{
			name: "write and reply chunk of 2^32-1 bytes, not needed", msg: withCall(head(rpcrdma.TypeMsg, cat([]uint32{0, 1, 1}, segWords(1<<32-1), []uint32{0, 1, 1}, segWords(1<<32-1))...)),
			rfc8166: verdict{outcome: servedWith(cat([]uint32{0, 1, 1}, segWords(0), []uint32{0, 1, 1}, segWords(0)), rpcSuccess...)},
		},
	)
}

// smallMessage is Config.MaxMessage where these messages are sent.
const smallMessage = 64 << 10

// malformedMsgP are RDMA_MSGPs, all of them malformed by RFC 8166 (section 4.4).
func malformedMsgP() (all []malformed) {
	add := func(name string, msg func(uint32) []byte, draft verdict) {
		all = append(all, malformed{name: "RDMA_MSGP, " + name, msg: msg, rfc8166: verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed}, draft: &draft})
	}
	bad := verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed}
	for _, align := range []uint32{0, 3, 5, 6, 0x30, 1000, bigReceive + 1, 2 * bigReceive, 1 << 31, 1<<32 - 1} {
		add(fmt.Sprintf("alignment %d", align), withCall(head(rpcrdma.TypeMsgP, align, 1024, 0, 0, 0)), bad)
	}
	add("alignment alone", head(rpcrdma.TypeMsgP, 64), bad)
	add("no lists", head(rpcrdma.TypeMsgP, 64, 1024), bad)
	short := verdict{outcome: refusedHeader.padded(), ends: rpcrdma.ErrMalformed}
	add("no message", head(rpcrdma.TypeMsgP, 64, 1024, 0, 0, 0), short)
	add("seven bytes of message", func(xid uint32) []byte {
		return append(head(rpcrdma.TypeMsgP, 64, 1024, 0, 0, 0)(xid),
			callBytes(xid, procNull, nil)[:7]...)
	}, short)
	// It has a read list, so the server may wait for an RDMA_DONE.
	add("alignment 3 and a read list", withCall(head(rpcrdma.TypeMsgP, cat([]uint32{3, 1024}, readWords(40, 4), []uint32{0, 0, 0})...)), verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed, done: true})
	ok := verdict{outcome: served(rpcSuccess...).padded()}
	for _, align := range []uint32{1, 2, 4, 64, 4096, bigReceive} {
		add(fmt.Sprintf("alignment %d, fine", align), withCall(head(rpcrdma.TypeMsgP, align, 1024, 0, 0, 0)), ok)
	}
	add("threshold 2^32-1, fine", withCall(head(rpcrdma.TypeMsgP, 64, 1<<32-1, 0, 0, 0)), ok)
	// An RPC decode error (draft section 4.2): the credential's empty body would be padded.
	add("padding past the end", withCall(head(rpcrdma.TypeMsgP, 4096, 0, 0, 0, 0)), verdict{outcome: served(rpcBadCred...).padded()})
	add("rdma_xid differs", func(xid uint32) []byte {
		return append(head(rpcrdma.TypeMsgP, 64, 1024, 0, 0, 0)(xid),
			callBytes(xid+1, procNull, nil)...)
	}, verdict{outcome: outcome{answer: errChunk, count: rpcrdma.Stats{Malformed: 1, ErrorsSent: 1, Padded: 1}}})
	add("reply to nothing, or too short for one", withReply(head(rpcrdma.TypeMsgP, 64, 1024, 0, 0, 0)), verdict{outcome: strayReply.padded(), ends: oncrpc.ErrMalformedReply})
	return all
}

// bigReceive is Config.InlineRecv where these messages are sent.
const bigReceive = 32 << 10

// malformedBodies are RDMA_MSGs with a malformed RPC message.
func malformedBodies() (all []malformed) {
	plain := head(rpcrdma.TypeMsg, 0, 0, 0)
	neither := verdict{outcome: refusedHeader, ends: rpcrdma.ErrMalformed}
	for n := range 8 {
		all = append(all, malformed{
			name:    fmt.Sprintf("%d bytes of message", n),
			msg:     func(xid uint32) []byte { return append(plain(xid), callBytes(xid, procNull, nil)[:n]...) },
			rfc8166: neither,
		})
	}
	for _, typ := range []uint32{2, 3, 0x01000000, 0xffffffff} {
		all = append(all, malformed{
			name: fmt.Sprintf("message type %d", typ),
			msg: func(xid uint32) []byte {
				b := append(plain(xid), callBytes(xid, procNull, nil)...)
				binary.BigEndian.PutUint32(b[32:], typ)
				return b
			},
			rfc8166: neither,
		})
	}
	another := func(f func(uint32) []byte, delta uint32) func(uint32) []byte {
		return func(xid uint32) []byte { return append(plain(xid), f(xid+delta)...) }
	}
	call := func(xid uint32) []byte { return callBytes(xid, procNull, nil) }
	return append(all,
		// The body says that it is a call, whoever used the XID.
		malformed{name: "rdma_xid is one less than the call's", msg: another(call, 1), rfc8166: verdict{outcome: refusedHeader}},
		malformed{name: "rdma_xid has another high bit than the call's", msg: another(call, 1<<31), rfc8166: verdict{outcome: refusedHeader}},
		malformed{name: "rdma_xid is not the reply's", msg: another(replyHeader, 1), rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrXID}},
		malformed{name: "reply to nothing, or too short for one", msg: withReply(plain), rfc8166: verdict{outcome: strayReply, ends: oncrpc.ErrMalformedReply}},
		malformed{name: "reply cut off", msg: func(xid uint32) []byte { return append(plain(xid), be32(xid, 1)...) }, rfc8166: verdict{outcome: strayReply, ends: oncrpc.ErrMalformedReply}},
		malformed{
			name: "reply with a reply chunk in use", msg: withReply(head(rpcrdma.TypeMsg, cat([]uint32{0, 0, 1, 1}, segWords(4))...)),
			rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrMalformed},
		},
		malformed{
			name: "reply with a write chunk that nobody offered", msg: withReply(head(rpcrdma.TypeMsg, cat([]uint32{0, 1, 1}, segWords(4), []uint32{0, 0})...)),
			rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrMalformed},
		},
		malformed{
			name: "reply with a read list past its end", msg: withReply(head(rpcrdma.TypeMsg, cat(readWords(28, 4), []uint32{0, 0, 0})...)),
			rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: strayReply, ends: chunks.ErrMalformed, done: true},
		},
		malformed{
			name: "reply with a read chunk at position 0", msg: withReply(head(rpcrdma.TypeMsg, cat(readWords(0, 4), []uint32{0, 0, 0})...)),
			rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: strayReply, ends: rpcrdma.ErrMalformed, done: true},
		},
		malformed{
			name: "reply with a read list of no bytes, and too short", msg: withReply(head(rpcrdma.TypeMsg, cat(readWords(24, 0), []uint32{0, 0, 0})...)),
			rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: strayReply, ends: oncrpc.ErrMalformedReply, done: true},
		},
		malformed{
			name: "reply with a read chunk of no bytes at position 0, and too short", msg: withReply(head(rpcrdma.TypeMsg, cat(readWords(0, 0), []uint32{0, 0, 0})...)),
			rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrReplyReadList}, draft: &verdict{outcome: strayReply, ends: oncrpc.ErrMalformedReply, done: true},
		},
		malformed{
			name: "reply with a read list and the XID of another", msg: func(xid uint32) []byte {
				return append(head(rpcrdma.TypeMsg, cat(readWords(24, 4), []uint32{0, 0, 0})...)(xid), replyHeader(xid+1)...)
			},
			rfc8166: verdict{outcome: strayReply, ends: rpcrdma.ErrXID}, draft: &verdict{outcome: strayReply, ends: rpcrdma.ErrXID, done: true},
		},
	)
}

// malformedRPC have nothing wrong with their headers: RPC answers them (draft section 8).
func malformedRPC() (all []malformed) {
	add := func(name string, f outcome, change func(call []byte) []byte) {
		all = append(all, malformed{
			name: "RPC: " + name,
			msg: func(xid uint32) []byte {
				return append(head(rpcrdma.TypeMsg, 0, 0, 0)(xid),
					change(callBytes(xid, procSink, &items{}))...)
			},
			rfc8166: verdict{outcome: f},
		})
	}
	set := func(at int, w uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], w); return b }
	}
	for n := 8; n < 48; n++ {
		want := rpcGarbageArgs
		switch {
		case n >= 40: // the arguments
		case n >= 32:
			want = rpcBadVerf
		case n >= 24:
			want = rpcBadCred
		}
		add(fmt.Sprintf("%d bytes of a call", n), served(want...), func(b []byte) []byte { return b[:n] })
	}
	add("arguments too long", served(rpcGarbageArgs...), func(b []byte) []byte { return append(b, 0, 0, 0, 0) })
	add("version 1", served(rpcMismatch...), set(8, 1))
	add("version 2^32-1", served(rpcMismatch...), set(8, 0xffffffff))
	add("another program", served(rpcProgUnavail...), set(12, testProgram+1))
	add("another version of the program", served(0, 0, 0, 2, 1, 1), set(16, 2))
	add("another procedure", served(rpcProcUnavail...), set(20, 99))
	add("another flavour", served(rpcBadCred...), set(24, 77))
	add("credential of 2^32-1 bytes", served(rpcBadCred...), set(28, 0xffffffff))
	add("verifier of 401 bytes", served(rpcBadVerf...), set(36, 401))
	add("more items than there are", served(rpcGarbageArgs...), set(40, 1))
	add("2^32-1 items", served(rpcGarbageArgs...), set(40, 0xffffffff))
	return all
}
