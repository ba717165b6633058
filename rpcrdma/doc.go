// Package rpcrdma carries ONC RPC over RDMA. It is a transport for package oncrpc that speaks
// RPC-over-RDMA version 1 (RFC 8166, or draft-ietf-nfsv4-rpcrdma-08) over any provider of package
// transport.
//
// [Dial] makes a connection for the calls of an oncrpc.Client:
//
//	conn, err := rpcrdma.Dial(ctx, dialer, "server:20049", rpcrdma.Config{})
//	...
//	defer conn.Close()
//	client := oncrpc.NewClient(conn, program, version, oncrpc.AuthNone())
//	err = client.Call(ctx, procedure, &args, &reply)
//
// [Serve] accepts connections and answers their calls with an oncrpc.Server:
//
//	err := rpcrdma.Serve(ctx, listener, server, rpcrdma.Config{})
//
// The package example shows both ends. Either end of a connection may call and serve ([Conn.Serve],
// RFC 8167).
//
// # How a message travels
//
//   - A short call or reply is one Send: inline.
//   - Bulk arguments of a longer call go as read chunks, which the server fetches by RDMA Read.
//   - Bulk results go as write chunks: the server writes them by RDMA Write into the buffers that
//     the caller named.
//   - What is still too long goes as a chunk of its own: a read chunk at position 0 for a call, the
//     reply chunk for a reply.
//
// The inline sizes of [Config] decide, and MinChunk and ChunkFrom adjust that.
//
// # Memory and flow control
//
// Three limits of [Config] bound what peers can make this side hold: ServerMemory and ConnMemory
// for chunks, and ReceiveMemory for messages. A call that does not fit waits, and peers are granted
// fewer credits meanwhile. Peer hosts share the limits fairly. An idle connection holds no memory
// for messages where the provider can hold messages back ([transport.SharedReceiver]), as those of
// this module can. Other providers need memory for each posted receive; a connection whose first
// receives do not fit is refused ([ErrReceiveMemory]).
//
// A peer that does nothing for a call within Config.PeerTimeout loses its connection
// ([ErrStalled]). docs/memory.md has the arithmetic, and shows why no call waits for ever.
//
// # Cancellation
//
// A call returns as soon as its context ends. Its memory is cut loose first
// ([transport.Abandoner]): the peer may still write to a sink, or read from a copy. Other calls do
// not notice. A provider that can do neither that nor import the caller's memory exposes copies,
// which the call leaves behind. One that can only import makes the call wait up to
// Config.CancelGrace for its reply; then the connection ends.
//
// # Dialects
//
// Both dialects have version number 1 on the wire. [RFC8166] is the default, and what Linux speaks.
// [Draft] adds what RFC 8166 dropped from the draft:
//
//   - Padding (draft section 3.9). Inline data is aligned as the receiver wants it, in an
//     RDMA_MSGP. With Config.Align, receives have a second, aligned buffer for such data.
//   - Read chunks in replies (sections 3.8 and 5.1). The client reads what fits neither inline nor
//     in the chunks that it offered, and confirms with an RDMA_DONE.
//   - Write chunks returned with lengths that include the XDR round-up (section 3.7).
//
// Set both ends to the same dialect. Otherwise only calls that need none of this work; others fail
// with [ErrReplyReadList], [ErrRoundUp] or ERR_CHUNK.
//
// In the Draft, a reply that the client reads pins memory until its RDMA_DONE, at most for
// Config.PeerTimeout. A client that reads later loses its connection.
//
// In either dialect, both ends may change their sizes while the connection is up (draft section 6):
// package confproto, [Conn.UpdateSettings].
//
// # Errors
//
// Dial and Serve return a *oncrpc.ConfigError for an invalid Config. Errors of connections and
// calls are of type [*OpError], which names the operation and the peer. They may wrap:
//
//   - net.ErrClosed: the connection has ended. [Conn.Err] has the reason.
//   - the error of the call's context.
//   - a [*PeerError]: the peer answered with RDMA_ERROR.
//   - [transport.ErrNoMemory]: there was no memory or window for this call. The connection stays.
//   - a *oncrpc.CallTooLongError or *oncrpc.ReplyTooLongError.
//
// A peer's invalid message is answered as the RFC says, counted in [Stats] and logged.
package rpcrdma
