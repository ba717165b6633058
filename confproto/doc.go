// Package confproto is the Connection Configuration Protocol, CONF_RDMA: program 100400 version 1
// (draft-ietf-nfsv4-rpcrdma-08 section 6), as a program for a server and as what a client calls. By
// it the two ends of an RPC-over-RDMA connection agree, in band, on how long the messages may be
// that they send inline, on how many RDMA Reads there may be under way, and on the alignment of the
// server's receives.
//
//	srv.Handle(confproto.New(confproto.Config{}))                             // the server
//
//	conn, err := rpcrdma.Dial(ctx, dialer, addr, cfg)                         // the client
//	...
//	_, err = confproto.Configure(ctx, conn, confproto.Options{})
//	if err != nil && !errors.Is(err, confproto.ErrUnavailable) {
//		...
//	}
//
// RFC 5666 gave the program the number 100417, and RFC 8166 dropped it. It can be served and called
// under both numbers, and on connections of either rpcrdma.Dialect; the alignment means something
// to the Draft alone.
//
// # What is agreed on
//
// Sizes count the whole Send, the header of RPC-over-RDMA included, as the receiver posts buffers
// for it (section 5). The sizes of what travels as chunks are not limited.
//
//   - maxcall_sendsize: the client asks, the server answers with the size of the receives that it
//     can post from now on. The client sends inline what is no longer than that, even if he has
//     asked for less. What is in force on the connection already is never taken back.
//   - maxreply_sendsize: what the client has receives for, posted before he asks. The server sends
//     inline what is no longer than that. It has no say in it: there is no place for one in the
//     answer, and a client need not offer chunks for what is short enough.
//   - maxrdmaread: of the client, how many Reads the server has under way for the arguments of
//     calls; 0: none are possible, so calls with read chunks are refused. Of the server, how many
//     the client has under way for read lists in replies (Draft); 0: none are read. Either end
//     sends what its endpoint has been set up with, and nobody exceeds his own.
//   - align: what the client pads opaque data to in calls (RDMA_MSGP; Draft).
//
// Calls of the server's, where it makes any, have sizes of their own: it can configure them in the
// same way, with its end as the client and the program served at the other. Both may happen at
// once.
//
// Receives cannot be recalled once they are posted. That is why both ends post the longer ones
// before they name the size, and why less than asked for is agreed to on a connection that has
// short ones posted.
//
// Values that make no sense do no harm. A size below 1024 is taken for 1024, which every connection
// can do (section 6.1), one above rpcrdma.MaxInline for that. Numbers of Reads are bounded by what
// the endpoint has. An alignment that is no power of two, no more than XDR's four bytes, or so
// large that no message could keep to it, means none.
//
// # RFC 8797
//
// Private data in the setup of a connection says the same about sizes one round trip earlier, and
// both may be used. What it said is what is in force at the beginning. Without it that is the
// draft's initial state (section 6.1): one call, and 1024 bytes each way (with
// rpcrdma.Config.NoPrivateData, or a peer who sends none). A client has one credit until the first
// reply in any case, so when Configure is the first call nothing else travels before the answer.
// The answer to CONF_RDMA then replaces what the private data said, which is bounded to 256 KiB in
// steps of 1 KiB, has no Reads, and no alignment; whether remote invalidation is possible is known
// from private data alone.
//
// # Security
//
// Section 11 says that this protocol, when used, MUST be protected by an appropriate security
// flavour. Config.Service demands RPCSEC_GSS (RFC 2203) of callers, and Options.Flavor may have it.
// It is for whoever runs a server to demand it: the zero Config does not. Config.Flavors, which can
// demand AUTH_SYS, and Config.Clients, a list of addresses, prove nothing of who calls.
//
// An unprotected call configures the connection that it came on, and no other: who can make one is
// the peer of that connection, who can break it in simpler ways, or somebody who can alter what
// travels on it, who can do the same to every call. By it he can make the server post receives of
// up to Config.MaxCall bytes each in place of shorter ones, as many as it grants credits, until the
// connection ends; have replies sent that are too long for the client's receives, which ends the
// connection; and forbid Reads or have calls padded, which makes transfers fail or slower. He
// cannot have memory exposed, see data of others, or bring either end to send or expect more than
// its own limits. A gateway that passes calls of others on must not pass on these: they would
// configure its connection. Serve the program there, too: where the calls do not come over RDMA, it
// is unavailable.
package confproto
