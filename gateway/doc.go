// Package gateway takes RPC over TCP and passes it on over another transport, such as RPC-over-RDMA, so that
// clients that know nothing of RDMA reach a server that is reached that way only.
//
// A [Gateway] is what an oncrpc.Server forwards calls to:
//
//	g, err := gateway.New(gateway.Config{Dial: dial})
//	srv := oncrpc.NewServer(oncrpc.ServerConfig{Forward: g.Forward})
//	err = recordmark.Serve(ctx, listener, srv, recordmark.Config{})
//	...
//	g.Drain()
//	srv.Shutdown(ctx)
//	g.Close()
//
// # Connections
//
// Each connection of a client has its own connection to the server, which is made when the first call
// comes. When one of the two ends, so does the other: the client connects anew and sends again what
// had no answer, as it would with the server itself. Transaction ids are kept, so that the server
// finds such calls in its cache of replies.
//
// While the server cannot be reached, the connections of clients stay, and calls wait, as for a
// server that is slow. The gateway tries again, after pauses that double from 250 ms to 5 s; after
// five minutes it ends the connection of the client, which comes again if it is still there. So a
// mount outlives a restart of the server, and nothing is answered that the server has not said. The
// log tells when that begins and ends.
//
// A call that comes again while it is under way on the same connection is dropped. When it comes for
// the third time since it was passed on, the server may have dropped it, and the connections are
// ended.
//
// # Messages
//
// Messages pass whole: credentials and verifiers of whatever flavour, denials, errors of version. Nothing is
// encoded anew. Two things are changed: a READ, READDIR or READDIRPLUS of NFS version 3 that asks for more than
// Config.MaxReply asks for that much, which servers may do themselves; and a call that the other transport cannot carry, or whose reply it cannot,
// is answered with SYSTEM_ERR.
//
// Calls from the server to the client are not passed on.
//
// # Bulk data
//
// Of calls of NFS version 3 with AUTH_NONE or AUTH_SYS the gateway knows the binding to RDMA (RFC 8267): the data of
// WRITE and the path of SYMLINK stay where they were received, and are fetched from there by RDMA Read; the data of READ and the path of READLINK are
// put by RDMA Write where the reply is sent from. The longest reply is known from the arguments. Of any other call
// it is not, and there is room for Config.MaxReply; nothing of it travels on its own. That is so for calls with RPCSEC_GSS
// too, whose arguments may be encrypted, and for arguments that cannot be decoded, which the server judges.
//
// # Memory
//
// A transport over RDMA needs the memory for a reply before the call. Calls take it from Config.ConnMemory and
// Config.Memory, and wait where there is too little, in the order of their arrival; recordmark then stops reading their connection
// when Config.MaxInFlight calls are unanswered.
package gateway
