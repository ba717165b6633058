// Package chunks decides which bytes of an RPC message travel by RDMA, and encodes and decodes the
// chunk lists that say so: the read list, the write list and the reply chunk of a transport header
// (draft-ietf-nfsv4-rpcrdma-08 sections 3.4 to 3.7 and 4.3; RFC 8166 section 3.4).
//
// It moves no bytes, and does not check what a peer's lists say: package rpcrdma does.
//
//   - [PlanCall] and [PlanReply] choose between inline and chunks, within [Limits].
//   - [AppendSegments] and [Distribute] make the segments of a chunk.
//   - [Lists] are the lists of one header: Append encodes them, Decode reads them.
//
// For example, with results for two buffers and at most 200 bytes of reply beside them:
//
//	lim := chunks.Limits{InlineSend: 4096, InlineRecv: 4096, MinChunk: 1024, SegmentSize: 1 << 20}
//	plan, err := chunks.PlanCall(&message, results, 200, lim)
//	if plan.WriteResults {
//		... // offer a write chunk for each result: Lists.AddWrite
//	}
//
// A header has at most [MaxSegments] segments. Errors about a peer's lists wrap [ErrMalformed]. A
// message that cannot be sent within the limits fails with [ErrHeader] or [ErrNoReads].
package chunks
