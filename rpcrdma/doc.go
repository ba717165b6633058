// Package rpcrdma carries ONC RPC over RDMA: RPC-over-RDMA version 1
// (draft-ietf-nfsv4-rpcrdma-08, RFC 8166) as a transport for package oncrpc, on any
// provider of package transport.
//
// A call begins with a Send that carries a header and, where they fit, the RPC
// message. Bulk arguments that do not fit go as read chunks, which the server
// fetches by RDMA Read; a message that is long without them is itself a read chunk,
// at position zero. Bulk results land by RDMA Write in the buffers that the caller
// named, and a reply that may be long gets a reply chunk. Which way each byte goes follows from
// the inline sizes, the rest is configuration.
//
// # Memory
//
// Each end posts a receive with each of its own calls, one for the peer's first call when the connection begins, and
// before each reply as many as its grant calls for. What a call makes the server hold,
// its arguments and its largest reply together, is reserved before it
// starts; calls that do not fit the budget wait, and grants shrink meanwhile.
//
// # Cancellation
//
// A call returns when its context ends, at whatever stage. Its memory is cut loose first
// (transport.Abandoner): the peer may go on writing into a sink and
// reading from a copy, and neither the caller nor other calls notice.
//
// # Version and dialect
//
// Everything sent says version 1. Without further ado the rules are those of RFC 8166, which is what Linux speaks.
// [Draft] adds what draft-ietf-nfsv4-rpcrdma-08 has beyond that; both ends must be set to it:
//
//   - Padding (section 3.9). Where the peer's alignment is known, data that is sent inline is moved to a multiple of it, in an RDMA_MSGP.
//     With [Config.Align] receives have a second buffer at that place, so that the data lies aligned in a buffer of its own.
//   - Read chunks in replies (sections 3.8, 5.1). What fits neither inline nor in the chunks that the client offered is left for it to read, with
//     an RDMA_DONE as its receipt.
//   - Returned write chunks have lengths that include the round-up (section 3.7).
//
// The sizes of messages, the number of RDMA Reads and the alignment may be changed while a connection is up: [Conn.Agree]. Package confproto does
// that by the protocol of section 6, in either dialect.
//
// # Replies that wait to be read
//
// A reply with a read list pins its memory until the client's RDMA_DONE, for [Config.PeerTimeout] at most: then it is taken back, and a client that
// reads it after all loses its connection. What is pinned counts in the memory of its connection, [Config.ConnMemory], and of
// the server. A reply that finds others of its connection pinned and no room waits for them; meanwhile no further call of that connection is
// started, and grants go down to zero. So what one client can read is no more than its share, and what is withheld from it are replies to calls that
// had been started before, of which there are no more than credits.
//
// Each RDMA_DONE that may still come has a receive posted for it, also when its time has run out. So there are no more of them than credits: replies
// wait for the DONEs of others then, too, and a client that owes as many for good loses its connection.
//
// This cannot deadlock. A withheld reply waits for RDMA_DONEs of its own connection alone. Each of these comes, because its
// receive was posted before the reply left and the client needs no further credit to send it; or its time runs out; or the connection ends. And when nothing
// of a connection is pinned any more its next reply is sent whatever memory is free. A client that was granted nothing has the call under way whose
// reply is withheld, and that brings the next grant (section 11). Package credits has the argument about credits.
package rpcrdma
