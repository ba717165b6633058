// Package oncrpc is ONC RPC version 2 (RFC 5531): calls and replies,
// authentication flavours, a [Client], a [Server], and the [Transport] that both
// run on. It knows nothing of RDMA; a program written for it is served over RPC on
// TCP (package recordmark) and over RPC-over-RDMA alike.
//
// # Bulk data
//
// Arguments and results are encoded with package xdr, which leaves bulk data out
// of the stream by reference. Whether that data then travels inside the message or
// beside it is the transport's business. These rules say who owns which bytes:
//
//   - Bulk data of a call belongs to the transport until the call returns.
//   - The buffers named in [Request.Results], or by a [SizedReply], belong to the transport until
//     the call returns, in whichever way it returns, and are not touched afterwards.
//   - Bulk data of a reply belongs to the transport until it calls the release that
//     came with it.
//   - Bulk arguments are valid until the handler returns. Those that the reply refers to are valid
//     until it has left. A handler may take them for longer (xdr.Bulk.Take).
//
// Call.Args, Call.Results and bulk data not yet fetched are lent to the handler until it returns.
// Later use, say by a goroutine that it did not wait for, panics. A use more than 64 calls late may
// go unnoticed and spoil another reply, because a Call is used again. With RPCRDMADEBUG=poison in
// the environment no Call is used again, and memory that is given back is overwritten: then each
// late use shows. That is slow.
//
// # What a server does with a call
//
// A [Server] does these in this order, over whichever transport a call comes:
//
//  1. Admission: [ServerConfig].Admit, once for a connection, before it has any memory.
//  2. A call that is not for a registered program goes to [ServerConfig].Forward, if set, and
//     nothing of what follows is done. Otherwise its header is decoded.
//  3. The flavour of the credential accepts the call ([ServerFlavor]): it finds out who calls,
//     checks and unwraps the arguments, or answers itself. The built-in flavours AUTH_NONE and
//     AUTH_SYS do so at once; others may block, and run on a worker from here on. Then the program
//     is looked up. If there is none, the reply that says so carries the flavour's verifier.
//  4. For procedures that are Once, the reply cache, or the program's own [ReplayPolicy]: it goes
//     by the caller's [Identity] and the unwrapped arguments, and keeps plain results.
//  5. The interceptors ([ServerInterceptor]), and inside of them: is the procedure there; may the
//     caller ([Program].Authorize, which may block); the [Handler]; were the arguments decoded;
//     can the results be encoded. A call that is refused in 3 passes the interceptors, too. One
//     whose header cannot be decoded, or that a flavour answers itself, does not.
//  6. The flavour's wrapper protects the results ([ResultsWrapper]), and the reply is sent:
//     [OutcomeForCaller] says what an error means to the caller.
//
// A call that is answered from the cache stops at 4. It is not authorized again: the execution was,
// for the same caller. A caller who has lost his rights since still gets these results. Header and
// protection of the reply are made for the call that it answers.
//
// # Flavours
//
// A [ClientFlavor] makes the message of a call anew for each transmission, so that a call that is
// sent again over another connection may have another sequence number. It checks the verifier of
// the reply, undoes what protects the results, and may have a call that was denied made once more.
// Bulk data under a checksum, or encrypted, travels in the message and is never placed (RFC 8166
// section 8.2.2.3). The example of [ServerFlavor] is both sides of a flavour with a shared secret.
//
// Package gss is RPCSEC_GSS (RFC 2203) on these interfaces. Its ClientFlavor.Ready creates a
// context, and its server answers that by Acceptance.BeginAnswer. [CallTracker] bounds the calls
// under way.
//
// # Transports
//
// Who writes a transport implements [Transport] and [IncomingCall], makes calls from an [Exchange],
// and reaches a server by its [Dispatcher]. A program needs [IncomingCall] and [Exchange] only to
// forward calls ([ServerConfig].Forward). These types are in this package because they, [Client]
// and [Server] refer to each other.
//
// # Calls that come twice
//
// No message is lost on a connection. But a client whose connection ends before the reply has come
// does not know whether its call was executed, and sends it again over another one. Procedures that
// must not be executed twice then are marked [Procedure.Once]: a server keeps their replies and
// repeats them, whichever transport the call comes by, and whichever of the two comes first.
package oncrpc
