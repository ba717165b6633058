// Package wire has the formats of RPC-over-RDMA version 1, in both dialects: the header with its
// chunk lists ([Header]), the private data of connection setup ([Private]), and the padding of an
// RDMA_MSGP ([Pad]).
//
// [Check] is the one check of what a peer's chunk lists say. Decoding only bounds their size.
package wire
