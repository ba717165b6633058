// Package oncrpc makes and serves calls of ONC RPC version 2 (RFC 5531). A [Client] calls, a
// [Server] serves programs, and both run on a [Transport]: RPC over TCP (package recordmark) or
// RPC-over-RDMA (package rpcrdma). Programs do not depend on the transport.
//
//	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
//	srv.Handle(oncrpc.Program{Number: 0x20001234, Version: 1, Procedures: procedures})
//	go recordmark.Serve(ctx, listener, srv, recordmark.Config{})
//
//	conn, err := recordmark.Dial(ctx, "server:2049", recordmark.Config{})
//	client := oncrpc.NewClient(conn, 0x20001234, 1, oncrpc.AuthNone())
//	err = client.Call(ctx, procedure, args, &reply)
//
// The package example is a complete program. Arguments and results encode and decode themselves
// with package xdr. The error of a call is a [*CallError]. It wraps the server's answer
// ([*AcceptError], [*AuthError] or [*VersionError]), the context's error, or an error of the
// transport.
//
// # Bulk data
//
// Package xdr keeps bulk data out of the stream. The transport decides whether it moves bulk data
// in the message or separately. These rules say who owns which memory:
//
//   - Bulk data of a call belongs to the transport until the call returns.
//   - The buffers in [Request.Results], or named by a [SizedReply], belong to the transport until
//     the call returns, with or without an error. Afterwards nothing touches them.
//   - Bulk data of a reply belongs to the transport until the transport calls its release function.
//   - Bulk arguments are valid until the handler returns. If the reply refers to them, they are
//     valid until it is sent. A handler can keep them longer with xdr.Bulk.Take.
//
// A handler may use Call.Args, Call.Results and bulk data not yet fetched only until it returns.
// Later use panics, for example in a goroutine that the handler did not wait for. The server reuses
// a Call 64 calls later. A use even later may go unnoticed and damage another reply. To find every
// late use, set RPCRDMADEBUG=poison in the environment. The server then reuses no Call and
// overwrites memory that is given back, which is slow.
//
// # How a server processes a call
//
// A [Server] takes these steps, whatever the transport:
//
//  1. [ServerConfig].Admit admits the connection, once, before the connection gets any memory.
//  2. A call for a program that is not registered goes to [ServerConfig].Forward, if set, and
//     processing ends. Otherwise the server decodes the header.
//  3. The [ServerFlavor] of the credential authenticates the caller, and checks and unwraps the
//     arguments. It may instead refuse the call or answer it. AUTH_NONE, AUTH_SYS and AUTH_TLS
//     never block; other flavours run on a worker, as does the rest of their calls. Then the server
//     looks up the program, so that even the reply PROG_UNAVAIL has the flavour's verifier.
//  4. For procedures marked Once, the reply cache or the program's [ReplayPolicy] looks for an
//     earlier copy of the call. It compares the caller's [Identity] and the unwrapped arguments,
//     and stores unwrapped results.
//  5. Each [ServerInterceptor] runs around what remains: finding the procedure,
//     [Program].Authorize, the [Handler], and checking that arguments were decoded and results
//     encoded. Calls refused in step 3 also pass through the interceptors. Calls with an
//     undecodable header, or answered by the flavour, do not.
//  6. The flavour's [ResultsWrapper] protects the results, and the server sends the reply.
//     [OutcomeForCaller] defines what an error means to the caller.
//
// Step 4 may answer a call from the cache. Such a call is not authorized again: a caller whose
// rights were revoked meanwhile still gets the results of the earlier execution. The reply's header
// and protection are made for the new call.
//
// # Flavours
//
// A [ClientFlavor] seals a call for each transmission, so a call that is sent again may carry
// another sequence number. It checks the verifier of the reply, unwraps the results, and may retry
// a call that was denied. Bulk data that is encrypted or has a checksum travels in the message,
// never by RDMA (RFC 8166 section 8.2.2.3). The example of [ServerFlavor] implements both sides of
// a flavour with a shared secret. Package gss implements RPCSEC_GSS (RFC 2203) on these interfaces.
//
// # Transports
//
// A transport implements [Transport] and [IncomingCall]. It sends the call in an [Exchange], and
// passes received calls to a [Dispatcher]. A program needs [IncomingCall] and [Exchange] only to
// forward calls ([ServerConfig].Forward).
//
// # Repeated calls
//
// A connection loses no messages. But when it ends before a reply has arrived, the client cannot
// know whether the server executed the call, and may send it again on a new connection. Mark
// procedures that must not run twice with [Procedure.Once]: the server keeps their replies, and
// answers a repeated call with the kept reply. docs/embedding.md says what that promises.
package oncrpc
