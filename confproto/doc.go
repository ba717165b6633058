// Package confproto is CONF_RDMA, the Connection Configuration Protocol: the two ends of an
// RPC-over-RDMA connection agree on larger inline messages, on the number of RDMA Reads, and on the
// alignment of the server's receives (program 100400 version 1, draft-ietf-nfsv4-rpcrdma-08
// section 6).
//
// A server serves the program:
//
//	srv.Handle(confproto.New(confproto.Config{}))
//
// A client calls it before anything else on the connection:
//
//	conn, err := rpcrdma.Dial(ctx, dialer, addr, cfg)
//	...
//	_, err = confproto.Configure(ctx, conn, confproto.Options{})
//	if err != nil && !errors.Is(err, confproto.ErrUnavailable) {
//		...
//	}
//
// The package example shows both ends. RFC 5666 numbered the program 100417, and RFC 8166 dropped
// it. It works under both numbers and in either rpcrdma.Dialect; the alignment matters in the Draft
// alone.
//
// # What is agreed on
//
// Sizes are in bytes and count the whole Send, header included (section 5). Chunks may be of any
// size.
//
//   - maxcall_sendsize: the client asks for a size. The server answers with the size of receive
//     that it can post from now on, and the client sends calls up to that size inline, even if it
//     asked for less. The server does not go below what is in force already.
//   - maxreply_sendsize: the client names the size of receive that it has posted. The server sends
//     replies up to that size inline. The answer has no field for it, so the server cannot object.
//   - maxrdmaread: the client names how many RDMA Reads the server may have under way to fetch
//     arguments; 0 means none, and calls with read chunks are then refused. The server names how
//     many the client may have under way for read lists in replies (Draft). Each end names what its
//     endpoint was set up with.
//   - align: the client pads opaque data in calls to this alignment (RDMA_MSGP; Draft).
//
// Each end posts longer receives before it names their size. Posted receives cannot be recalled, so
// a connection with short ones posted agrees to less than was asked for.
//
// A server that makes calls may configure them the same way, as the client of a program that the
// other end serves. Both may happen at once.
//
// Values out of range do no harm. Sizes are clamped to [MinSize] and [MaxSize], and numbers of
// Reads to what the endpoint has. An alignment counts as none if it is not a power of two, is 4 or
// less, or is longer than any message.
//
// # RFC 8797
//
// Private data at connection setup (RFC 8797) says the same about sizes one round trip earlier.
// Both may be used: private data says what is in force at first, and the answer to CONF_RDMA
// replaces it. Without private data, a connection begins with 1024 bytes each way (section 6.1).
// Private data goes up to 256 KiB in steps of 1 KiB, and has neither Reads nor an alignment. It
// alone says whether Send with Invalidate is possible.
//
// A client has one credit until the first reply. So if Configure is the first call, nothing else
// travels before the answer.
//
// # Security
//
// Section 11 says that this protocol MUST be protected by an appropriate security flavour. The zero
// Config demands none. To demand RPCSEC_GSS (RFC 2203), set Config.Service at the server and
// Options.Flavor at the client. Config.Flavors with AUTH_SYS, and Config.Clients, a list of
// addresses, prove nothing about the caller.
//
// An unprotected call configures only its own connection. Its sender is the peer, which can break
// the connection in simpler ways, or someone who can alter what travels on it, who can do so to any
// call. Such a call can:
//
//   - make the server post receives of up to Config.MaxCall bytes, as many as it grants credits,
//     until the connection ends;
//   - have the server send replies that are too long for the client's receives, which ends the
//     connection;
//   - forbid RDMA Reads or have calls padded, so that transfers fail or are slower.
//
// It cannot expose memory, see other clients' data, or make either end exceed its own limits.
//
// A gateway must not forward CONF_RDMA calls: they would configure the gateway's own connection.
// Serve the program in the gateway instead. It answers PROG_UNAVAIL to calls that do not come over
// RDMA.
package confproto
