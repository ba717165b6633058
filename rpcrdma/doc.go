// Package rpcrdma carries ONC RPC over RDMA: RPC-over-RDMA version 1
// (draft-ietf-nfsv4-rpcrdma-08, RFC 8166) as a transport for package oncrpc, on any
// provider of package transport.
//
// [Dial] makes a connection, over which an oncrpc.Client calls. [Serve] answers calls with an
// oncrpc.Server. Either end of a connection may do both.
//
// A call begins with a Send that carries a header and, where they fit, the RPC message. Bulk
// arguments that do not fit go as read chunks, which the server fetches by RDMA Read; a message
// that is long without them is itself a read chunk, at position zero. Bulk results land by RDMA
// Write in the buffers that the caller named, and a reply that may be long gets a reply chunk.
// Which way each byte goes follows from the inline sizes; [Config] has the rest.
//
// # Memory
//
// What a call makes the server hold, its arguments and its largest reply together, is reserved
// before its handler runs. Calls that do not fit in [Config.ConnMemory] and [Config.ServerMemory],
// or in their host's share of that, wait, and grants shrink meanwhile.
//
// Receives take memory from a pool of all connections when a message comes, and give it back when
// the call that came with it has ended: its reply has left, and in the Draft has been read. So an
// idle connection holds no memory for messages, though its peer may send as many as it was granted.
// [Config.ReceiveMemory] bounds what the connections of one Serve have of it, beyond two receives
// for each, in the Draft three:
//
//   - While a message of a connection has not been done with, or a call of this side is under way
//     on it, there is memory reserved for all that its peer may send. It is reserved together, when
//     the first message comes to a connection that is idle. If it is not free the provider takes
//     nothing from that peer until it is, which flow control below makes the peer feel. Nothing is
//     lost, and no connection ends because of it, as long as all that its peer may send fits in the
//     buffers below: over iWARP some megabytes. A peer that was granted more than these hold,
//     hundreds of the largest messages, and sends it all, may lose patience
//     (iwarp.Config.StallTimeout). A peer that leaves loses its place among those that wait, and
//     one that begins a message and stops loses the memory: over iWARP, StallTimeout says when.
//   - Grants go down as the memory becomes short: no connection gets more of it, beyond what it
//     has, than what is left free for others then.
//
// The memory for chunks and for messages is shared out by peer host, that is by its address without
// the port. A host that has some gets more only while it then has no more than is left free. So one
// host that takes all it can leaves a half, and N such hosts leave 1/(N+1), for one that comes new,
// whose calls wait for none of theirs. Clients that share an address share what it gets.
//
// So memory is bounded: by ReceiveMemory for messages, and by as much again, at most, for the Sends
// of their replies; by ServerMemory for chunks, but for replies that are to be read (below); by
// 32 MiB that the pool keeps for later; and by some 32 KiB for each connection, and up to 320 more
// for one that is held up just when it had been idle for a moment. What sockets hold in the kernel
// comes on top.
//
// Nothing of that waits for ever; flow.go has the argument. It is about what this package knows.
// Handlers that wait for calls of other connections, as those of locks do, keep what their
// connections have reserved, up to [Config.Credits] receives each: let ReceiveMemory be enough for
// as many of them as there may be, or let them wait for a limited time. So do calls of this side
// that the peer never answers.
//
// # Providers that cannot hold messages back
//
// Such providers, those of RoCE or SCTP say, lack [transport.SharedReceiver], or CanHold of
// [transport.Info]. They are given memory for each receive when it is posted. So nothing is granted
// that has no memory already. An idle connection holds what it was granted last: that counts in
// ReceiveMemory all the time, and so do the two receives, or three, that each connection must have.
// Grants go down in the same way as memory becomes short, by one with each reply, until a
// connection has no more than is free beyond what its host has, or those few.
//
// A connection for whose few receives there is no room, or its host has no share left, is closed
// as soon as it has been accepted ([ErrReceiveMemory]), which is logged, and counted in
// [Totals.Refused]. It does not wait: an idle connection gives nothing back, so nothing would
// say for how long. More than ReceiveMemory is taken only for the replies to calls of this side,
// one receive each, for RDMA_DONEs that are owed to one pinned reply of a connection, and by a
// first connection that does not fit.
//
// # Windows
//
// A window over memory of a call ends in [Conn.RoundTrip], which may block. All others end by a
// work request (local invalidation): those of a call that was given up, when its reply comes, and
// those of a reply that the client has read. The peer must let that pass within
// [Config.PeerTimeout], as with any reply.
//
// Memory that is scattered takes a window for each piece on some providers. Where these would be
// more than the header holds, or the provider has, it is copied into one run. A call that finds no
// window even so fails with an error that wraps [transport.ErrNoMemory]; the connection and other
// calls stay.
//
// # Cancellation
//
// A call returns when its context ends, at whatever stage. Its memory is cut loose first
// (transport.Abandoner): the peer may go on writing into a sink and
// reading from a copy, and neither the caller nor other calls notice.
//
// # Version and dialect
//
// Everything sent says version 1. Without further ado the rules are those of RFC 8166, which is
// what Linux speaks. [Draft] adds what draft-ietf-nfsv4-rpcrdma-08 has beyond that. Both ends
// should be set to it: where one is not, calls that need none of this work, and others fail
// ([ErrReplyReadList], [ErrRoundUp], ERR_CHUNK).
//
//   - Padding (section 3.9). Where the peer's alignment is known, data that is sent inline is moved
//     to a multiple of it, in an RDMA_MSGP. With [Config.Align] receives have a second buffer at
//     that place, so that the data lies aligned in a buffer of its own.
//   - Read chunks in replies (sections 3.8, 5.1). What fits neither inline nor in the chunks that
//     the client offered is left for it to read, with an RDMA_DONE as its receipt.
//   - Returned write chunks have lengths that include the round-up (section 3.7).
//
// The sizes of messages, the number of RDMA Reads and the alignment may be changed while a
// connection is up: [Conn.UpdateSettings]. Package confproto does that by the protocol of section
// 6, in either dialect.
//
// A reply with a read list pins its memory until the client's RDMA_DONE, but not beyond
// [Config.PeerTimeout]: then it is taken back, and a client that reads it after all loses its
// connection. What is pinned counts in ConnMemory and ServerMemory. A reply that finds others of
// its connection pinned and no room waits for them; meanwhile no further call of that connection
// starts, and its client is granted nothing. A reply that finds none pinned is sent whatever is
// free, beyond ServerMemory if need be: one for each connection. So let ServerMemory be enough for
// one of each. A client that owes as many RDMA_DONEs as it has credits, for good, loses its
// connection.
package rpcrdma
