package rpcrdma_test

import (
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
	draft   verdict
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
	if d == rpcrdma.Draft {
		return m.draft
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

// noReply is the verdict on what is no reply.
func (f outcome) noReply() verdict { return verdict{outcome: f} }

// reply is the verdict on what ends a call with err.
func (f outcome) reply(err error) verdict { return verdict{outcome: f, ends: err} }

// readList is the verdict of the Draft on what ends a call with err and has a read list.
func (f outcome) readList(err error) verdict { return verdict{outcome: f, ends: err, done: true} }

// padded is what an RDMA_MSGP comes to that is understood.
func (f outcome) padded() outcome {
	f.count.Padded = 1
	return f
}

// asked is the grant that all of the messages ask for.
const asked = 32

// The answers and the silences that there are (draft section 4.2, RFC 8166 section 4.5;
// docs/readings.md, 5).
var (
	refusedHeader = outcome{answer: errChunk, count: rpcrdma.Stats{Malformed: 1, ErrorsSent: 1}}
	refusedCall   = outcome{
		answer: errChunk, count: rpcrdma.Stats{Malformed: 1, ErrorsSent: 1, CallsReceived: 1},
	}
	otherVersion = outcome{answer: errVers, count: rpcrdma.Stats{BadVersion: 1, ErrorsSent: 1}}
	ignored      = outcome{count: rpcrdma.Stats{Malformed: 1}}
	strayReply   = outcome{count: rpcrdma.Stats{UnknownXID: 1}}
	strayError   = outcome{count: rpcrdma.Stats{UnknownXID: 1, ErrorsRecv: 1}}
	strayDone    = outcome{count: rpcrdma.Stats{DonesIgnored: 1}}

	// refused is the verdict on a header that cannot be decoded.
	refused = refusedHeader.reply(rpcrdma.ErrMalformed)
)

// errChunk is the RDMA_ERROR with ERR_CHUNK, byte for byte.
func errChunk(xid, grant uint32) []byte { return be32(xid, 1, grant, 4, 2) }

// errVers is the RDMA_ERROR with ERR_VERS: version 1 is all that there is.
func errVers(xid, grant uint32) []byte { return be32(xid, 1, grant, 4, 1, 1, 1) }

// served is an RPC reply without chunks.
func served(reply ...uint32) outcome { return servedWith(none, reply...) }

// servedWith is an RPC reply after chunk lists.
func servedWith(lists []uint32, reply ...uint32) outcome {
	answer := func(xid, grant uint32) []byte {
		return be32(cat([]uint32{xid, 1, grant, 0}, lists, []uint32{xid, 1}, reply)...)
	}
	return outcome{rpc: true, count: rpcrdma.Stats{CallsReceived: 1}, answer: answer}
}

// RPC replies, after XID and REPLY (RFC 5531 section 9).
var (
	rpcSuccess     = []uint32{0, 0, 0, 0}
	rpcGarbageArgs = []uint32{0, 0, 0, 4}
	rpcBadCred     = []uint32{1, 1, 1}
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

// lists is a header of version 1 with these chunk lists.
func lists(typ rpcrdma.Type, parts ...[]uint32) func(uint32) []byte {
	all := cat(parts...)
	if typ == rpcrdma.TypeMsgP {
		all = cat([]uint32{64, 1024}, all)
	}
	return head(typ, all...)
}

// withCall adds a call of procNull to a message.
func withCall(msg func(uint32) []byte) func(uint32) []byte { return with(msg, nullCall, 0) }

// withReply adds a reply to a message.
func withReply(msg func(uint32) []byte) func(uint32) []byte { return with(msg, replyHeader, 0) }

// with adds an RPC message whose XID is larger by delta.
func with(msg, rpc func(xid uint32) []byte, delta uint32) func(uint32) []byte {
	return func(xid uint32) []byte { return append(msg(xid), rpc(xid+delta)...) }
}

func nullCall(xid uint32) []byte { return callBytes(xid, procNull, nil) }

// none is three empty lists.
var none = []uint32{0, 0, 0}

// readWords is an entry of a read list, of memory that is not there.
func readWords(at, length uint32) []uint32 { return []uint32{1, at, 0xbad, length, 0, 0} }

// segWords is a segment of memory that is not there.
func segWords(length uint32) []uint32 { return []uint32{0xbad, length, 0, 0} }

// pastEnd is a segment of memory that goes beyond the last offset by one byte.
func pastEnd(length uint32) []uint32 { return []uint32{0xbad, length, 0xffffffff, 1 - length} }

// writeChunk are the lists with a write chunk of one segment.
func writeChunk(seg []uint32) []uint32 { return cat([]uint32{0, 1, 1}, seg, []uint32{0, 0}) }

// replyChunk are the lists with a reply chunk of one segment.
func replyChunk(seg []uint32) []uint32 { return cat([]uint32{0, 0, 1, 1}, seg) }

// bothChunks are the lists with both of them.
func bothChunks(seg []uint32) []uint32 {
	return cat([]uint32{0, 1, 1}, seg, []uint32{0, 1, 1}, seg)
}

func cat(parts ...[]uint32) []uint32 { return slices.Concat(parts...) }

const (
	smallMessage = 64 << 10 // Config.MaxMessage where these messages are sent
	bigReceive   = 32 << 10 // Config.InlineRecv there
	rdmaMsg      = rpcrdma.TypeMsg
	rdmaNoMsg    = rpcrdma.TypeNoMsg
	rdmaMsgP     = rpcrdma.TypeMsgP
)

// malformedTable is every kind of message in which something is wrong, and some in which little is.
type malformedTable []malformed

func malformedMessages() []malformed {
	var all malformedTable
	all.fixedWords()
	all.errors()
	all.lists()
	all.readLists()
	all.unusualLists()
	all.msgPs()
	all.bodies()
	return all
}

// add adds a message on which both dialects agree.
func (all *malformedTable) add(name string, msg func(uint32) []byte, v verdict) {
	all.add2(name, msg, v, v)
}

func (all *malformedTable) add2(name string, msg func(uint32) []byte, rfc8166, draft verdict) {
	*all = append(*all, malformed{name: name, msg: msg, rfc8166: rfc8166, draft: draft})
}

// fixedWords adds what is wrong in the four words that begin every header, or behind them.
func (all *malformedTable) fixedWords() {
	for _, n := range []int{0, 1, 4, 15} { // the XID for an answer is unknown
		msg := func(xid uint32) []byte { return head(rdmaMsg)(xid)[:n] }
		all.add(fmt.Sprintf("%d bytes, no header", n), msg, ignored.noReply())
	}
	for _, typ := range []rpcrdma.Type{5, 0x100, 0xffffffff} {
		all.add(fmt.Sprint(typ), head(typ), refused)
		all.add(fmt.Sprintf("%v and a call", typ), withCall(lists(typ, none)), refused)
		all.add(fmt.Sprintf("%v and a reply", typ), withReply(lists(typ, none)), refused)
	}
	// What another version has after these words is ignored, except in an RDMA_ERROR.
	for _, version := range []uint32{0, 2, 0x01000000} {
		for _, typ := range []rpcrdma.Type{rdmaMsg, rdmaNoMsg, rdmaMsgP, rpcrdma.TypeDone, 5} {
			name := fmt.Sprintf("version %d, %v", version, typ)
			v := otherVersion.reply(rpcrdma.ErrVersion)
			all.add(name+", four words", headOf(version, typ), v)
			all.add(name, withCall(headOf(version, typ, none...)), v)
		}
	}
	for _, tail := range [][]uint32{nil, none} {
		name := fmt.Sprintf("RDMA_DONE for nothing, %d words behind it", len(tail))
		all.add(name, head(rpcrdma.TypeDone, tail...), strayDone.noReply())
	}
	all.add("RDMA_MSG, four words", head(rdmaMsg), refused)
	for _, typ := range []rpcrdma.Type{rdmaMsg, rdmaNoMsg, rdmaMsgP} {
		full := lists(typ, readWords(40, 4), readWords(44, 4), []uint32{0, 1, 2}, segWords(100),
			segWords(100), []uint32{1, 0, 0, 1, 1}, segWords(100))
		for n := 20; n < len(full(0)); n += 4 {
			msg := func(xid uint32) []byte { return full(xid)[:n] }
			all.add(fmt.Sprintf("%v, %d bytes of all lists", typ, n), msg, refused)
		}
	}
}

// errors adds RDMA_ERRORs. They are never answered.
func (all *malformedTable) errors() {
	extra := []uint32{1, 2, 3, 4, 5, 6, 7, 8}
	short := ignored.reply(rpcrdma.ErrMalformed)
	is := func(code rpcrdma.ErrCode, low, high uint32) verdict {
		return strayError.reply(&rpcrdma.PeerError{Code: code, Low: low, High: high})
	}
	for _, version := range []uint32{1, 0, 2} {
		for _, tt := range []struct {
			name string
			tail []uint32
			want verdict
		}{
			{"without a code", nil, short},
			{"ERR_VERS", []uint32{1, 1, 1}, is(rpcrdma.ErrVers, 1, 1)},
			{"ERR_VERS without versions", []uint32{1}, short},
			{"ERR_VERS with one", []uint32{1, 1}, short},
			{"ERR_CHUNK", []uint32{2}, is(rpcrdma.ErrChunk, 0, 0)},
			{"code 0", cat([]uint32{0}, extra), is(0, 0, 0)},
			{"code 3 with seven words", cat([]uint32{3}, extra[:7]), short},
		} {
			name := fmt.Sprintf("RDMA_ERROR of version %d: %s", version, tt.name)
			all.add(name, headOf(version, rpcrdma.TypeError, tt.tail...), tt.want)
		}
	}
}

// lists adds chunk lists that cannot be decoded. Package chunks tests all kinds of them.
func (all *malformedTable) lists() {
	for _, typ := range []rpcrdma.Type{rdmaMsg, rdmaNoMsg, rdmaMsgP} {
		add := func(name string, parts ...[]uint32) {
			all.add(fmt.Sprintf("%v, %s", typ, name), withCall(lists(typ, parts...)), refused)
		}
		add("read list goes on and does not", readWords(0, 4), []uint32{2, 0, 0})
		add("write list neither there nor not", []uint32{0, 2, 0})
		add("more read segments than are taken",
			slices.Repeat(readWords(4, 0), chunks.MaxSegments+1), none)
		add("reply chunk neither there nor not", []uint32{0, 0, 0x80000000})
		add("more segments in all lists than are taken",
			slices.Repeat(readWords(4, 0), chunks.MaxSegments-1), bothChunks(segWords(1)))
		add("more write chunks than are taken",
			[]uint32{0}, slices.Repeat([]uint32{1, 0}, chunks.MaxSegments+1), []uint32{0, 0})
		add("reply chunk of 2^32-1 segments", []uint32{0, 0, 1, 0xffffffff}, segWords(1))
	}
}

// readLists adds calls with malformed read lists, in messages of each type.
func (all *malformedTable) readLists() {
	const half = smallMessage / 2
	for _, tt := range []struct {
		name  string
		reads []uint32
	}{
		{"position 1", readWords(1, 4)},
		{"position past the end by a word", readWords(44, 4)},
		{"overlap by the round-up", cat(readWords(32, 5), readWords(36, 4))},
		{"segments that add up to 2^32", cat(readWords(40, 1<<31), readWords(40, 1<<31))},
		{"chunks over the maximum together", cat(readWords(40, half+4), readWords(44+half, half))},
		{"past the last offset", cat(readWords(40, 4), []uint32{1, 40}, pastEnd(5000))},
	} {
		all.add("RDMA_MSG, "+tt.name, withCall(lists(rdmaMsg, tt.reads, none)), refusedCall.noReply())
		all.add2("RDMA_NOMSG, "+tt.name, lists(rdmaNoMsg, readWords(0, 40), tt.reads, none),
			refusedCall.reply(rpcrdma.ErrReplyReadList), refusedCall.readList(chunks.ErrMalformed))
		all.add2("RDMA_MSGP, "+tt.name, withCall(lists(rdmaMsgP, tt.reads, none)),
			refused, refusedCall.padded().noReply())
	}
	for _, tt := range []struct {
		name  string
		reads []uint32
		want  outcome
		draft error
	}{
		{"position 4 alone", readWords(4, 40), refusedHeader, chunks.ErrMalformed},
		{"position 0 and no bytes", readWords(0, 0), refusedCall, rpcrdma.ErrMalformed},
		{"position 0 too long", readWords(0, smallMessage+1), refusedCall, chunks.ErrMalformed},
	} {
		all.add2("RDMA_NOMSG, "+tt.name, lists(rdmaNoMsg, tt.reads, none),
			tt.want.reply(rpcrdma.ErrReplyReadList), tt.want.readList(tt.draft))
	}
}

// unusualLists adds other lists that are wrong, or odd but allowed.
func (all *malformedTable) unusualLists() {
	all.add("RDMA_NOMSG, no lists", lists(rdmaNoMsg, none), refused)
	all.add("RDMA_NOMSG, a call behind it", withCall(lists(rdmaNoMsg, none)), refused)
	all.add("RDMA_NOMSG, write list", lists(rdmaNoMsg, writeChunk(segWords(100))), refused)
	all.add("RDMA_NOMSG, reply chunk of no segments", head(rdmaNoMsg, 0, 0, 1, 0), refused)
	// From an end that serves nothing, nobody makes calls.
	all.add("RDMA_NOMSG, reply chunk", lists(rdmaNoMsg, replyChunk(segWords(100))), refused)
	(*all)[len(*all)-1].mute = &strayReply
	all.add2("RDMA_MSG, position 0 and no message behind it", lists(rdmaMsg, readWords(0, 40), none),
		refused, refusedHeader.readList(rpcrdma.ErrMalformed))
	emptyWrite, emptyReply := []uint32{0, 1, 0, 0, 0}, []uint32{0, 0, 1, 0}
	for _, tt := range []struct {
		name  string
		lists []uint32
		want  outcome
	}{
		{"position 0", cat(readWords(0, 40), none), refusedCall},
		{"write chunk past the last offset", writeChunk(pastEnd(4)), refusedCall},
		{"reply chunk past the last offset", replyChunk(pastEnd(9000)), refusedCall},
		// Chunks in place of words that never go by chunk: RPC answers.
		{"read chunk for the procedure", cat(readWords(20, 4), none), served(rpcGarbageArgs...)},
		{"read chunk for the credential", cat(readWords(24, 8), none), served(rpcBadCred...)},
		// No program asks for it, so it is not read.
		{"read chunk of no argument", cat(readWords(40, 4), none), served(rpcSuccess...)},
		// An empty segment has no effect.
		{"read segment of no bytes past the end", cat(readWords(1<<30, 0), none), served(rpcSuccess...)},
		{"write chunk of no segments", emptyWrite, servedWith(emptyWrite, rpcSuccess...)},
		{"reply chunk of no segments", emptyReply, servedWith(emptyReply, rpcSuccess...)},
		{"write and reply chunk of 2^32-1 bytes, not needed", bothChunks(segWords(1<<32 - 1)),
			servedWith(bothChunks(segWords(0)), rpcSuccess...)},
	} {
		all.add(tt.name, withCall(lists(rdmaMsg, tt.lists)), tt.want.noReply())
	}
}

// msgPs adds RDMA_MSGPs, all of them malformed by RFC 8166 (section 4.4).
func (all *malformedTable) msgPs() {
	add := func(name string, msg func(uint32) []byte, draft verdict) {
		all.add2("RDMA_MSGP, "+name, msg, refused, draft)
	}
	for _, align := range []uint32{0, 3, 6, bigReceive + 1, 2 * bigReceive, 1 << 31} {
		add(fmt.Sprintf("alignment %d", align), withCall(head(rdmaMsgP, align, 1024, 0, 0, 0)), refused)
	}
	short := refusedHeader.padded().reply(rpcrdma.ErrMalformed)
	add("no message", lists(rdmaMsgP, none), short)
	add("seven bytes of message", func(xid uint32) []byte {
		return append(lists(rdmaMsgP, none)(xid), nullCall(xid)[:7]...)
	}, short)
	// It has a read list, so the server may wait for an RDMA_DONE.
	add("alignment 3 and a read list",
		withCall(head(rdmaMsgP, cat([]uint32{3, 1024}, readWords(40, 4), none)...)),
		refusedHeader.readList(rpcrdma.ErrMalformed))
	for _, align := range []uint32{1, 4, 64, bigReceive} {
		add(fmt.Sprintf("alignment %d, fine", align),
			withCall(head(rdmaMsgP, align, 1024, 0, 0, 0)), served(rpcSuccess...).padded().noReply())
	}
	add("threshold 2^32-1, fine", withCall(head(rdmaMsgP, 64, 1<<32-1, 0, 0, 0)),
		served(rpcSuccess...).padded().noReply())
	// An RPC decode error (draft section 4.2): the credential's empty body would be padded.
	add("padding past the end", withCall(head(rdmaMsgP, 4096, 0, 0, 0, 0)),
		served(rpcBadCred...).padded().noReply())
	add("rdma_xid differs", with(lists(rdmaMsgP, none), nullCall, 1), refusedHeader.padded().noReply())
	add("reply to nothing, or too short for one", withReply(lists(rdmaMsgP, none)),
		strayReply.padded().reply(oncrpc.ErrMalformedReply))
}

// bodies adds RDMA_MSGs with a malformed RPC message, and replies with lists that are not theirs.
func (all *malformedTable) bodies() {
	plain := lists(rdmaMsg, none)
	for _, n := range []int{0, 4, 7} {
		msg := func(xid uint32) []byte { return append(plain(xid), nullCall(xid)[:n]...) }
		all.add(fmt.Sprintf("%d bytes of message", n), msg, refused)
	}
	for _, typ := range []uint32{2, 0xffffffff} {
		msg := func(xid uint32) []byte { return append(plain(xid), be32(xid, typ, 2)...) }
		all.add(fmt.Sprintf("message type %d", typ), msg, refused)
	}
	// The body says that it is a call, whoever used the XID.
	all.add("rdma_xid is one less than the call's", with(plain, nullCall, 1), refusedHeader.noReply())
	all.add("rdma_xid is not the reply's", with(plain, replyHeader, 1),
		strayReply.reply(rpcrdma.ErrXID))
	all.add("reply to nothing, or too short for one", withReply(plain),
		strayReply.reply(oncrpc.ErrMalformedReply))
	all.add("reply with a reply chunk in use", withReply(lists(rdmaMsg, replyChunk(segWords(4)))),
		strayReply.reply(rpcrdma.ErrMalformed))
	all.add("reply with a write chunk that nobody offered",
		withReply(lists(rdmaMsg, writeChunk(segWords(4)))), strayReply.reply(rpcrdma.ErrMalformed))
	for _, tt := range []struct {
		name  string
		reads []uint32
		draft error
	}{
		{"past its end", readWords(28, 4), chunks.ErrMalformed},
		{"at position 0", readWords(0, 4), rpcrdma.ErrMalformed},
		{"of no bytes at position 0, and too short", readWords(0, 0), oncrpc.ErrMalformedReply},
	} {
		all.add2("reply with a read list "+tt.name, withReply(lists(rdmaMsg, tt.reads, none)),
			strayReply.reply(rpcrdma.ErrReplyReadList), strayReply.readList(tt.draft))
	}
	all.add2("reply with a read list and the XID of another",
		with(lists(rdmaMsg, readWords(24, 4), none), replyHeader, 1),
		strayReply.reply(rpcrdma.ErrXID), strayReply.readList(rpcrdma.ErrXID))
}
