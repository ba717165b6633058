// Package transport is the contract between an upper layer that uses RDMA, such as package rpcrdma,
// and a provider that carries it out, such as package iwarp.
//
// A provider connects two endpoints ([Endpoint]; queue pairs of the verbs). Its package has
// a [Listener] and a [Dialer]. An upper layer uses an endpoint like this:
//
//	// The peer calls listener.Accept and request.Accept.
//	ep, err := dialer.Dial(ctx, "server:20049", func(ep transport.Endpoint) ([]byte, error) {
//		buf, err := ep.Domain().Alloc(4096, transport.LocalWrite)
//		if err != nil {
//			return nil, err
//		}
//		return nil, ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{buf}})
//	})
//	ep.Start(handler) // messages come to handler.Received
//
//	regions, err := ep.Expose(nil, memory, transport.RemoteWrite) // now the peer can write there
//	err = ep.Post(&transport.WorkRequest{
//		Op: transport.OpSend, Flags: transport.Signaled, Local: message, Done: completer,
//	})
//	... // completer.Complete is called when it has been sent
//	err = ep.Revoke(regions...)
//	ep.Close()
//	<-ep.Done() // only then is no memory in use any more
//
// Example (Provider) is a whole provider, and [WrapDialer] has an example of a wrapper.
// docs/provider.md is a guide to writing one.
//
// # The model
//
// The model is that of RFC 5040 section 1.1 and draft-ietf-nfsv4-rpcrdma-08 section 2:
//
//   - Sends complete at the receiver in the order in which they were posted.
//   - An RDMA Write completes at the sender alone. Every Write posted before a Send has been placed
//     when that Send is delivered.
//   - An RDMA Read completes at the requester. Later operations do not wait for it unless they have
//     the flag [Fence].
//   - A Send that finds no posted receive, or one that is too small, ends the connection. The upper
//     layer prevents that with credits. Instead of posting receives with memory, it may promise
//     them: a promised receive takes memory from a shared pool when a message comes
//     ([SharedReceiver]).
//   - A Write or Read of more than zero bytes must name a live steering tag that permits the access
//     and covers the bytes. One that does not places nothing and ends the connection; the method
//     Err of [Endpoint] says who learns the reason. Zero bytes are not checked. A provider that
//     cuts operations into segments checks each segment, so earlier segments may have been placed.
//
// # Memory
//
// Providers touch only memory in a [Slice]. It comes from [Domain].Alloc, or belongs to the caller
// and was named to the provider by an [Importer]. Both are told the [Access] that the memory is
// for. Upper layers must not assume that registering memory is free.
//
// A window over memory is one [Region]; scattered memory may take several. A window ends by the
// work request [OpInvalidate], or by [Endpoint.Revoke], which may block. Until then its memory must
// not be used for anything else, unless the window was abandoned.
//
// # Limits
//
// [Info] has the limits of a connection. Requests beyond them are refused with [ErrWorkRequest].
// Dialer and Listener have the private data that is possible in any case. What an adapter takes
// more is known only when it has been chosen, so try it: [ErrPrivateData] says that it is too much.
//
// # Cancellation
//
// The windows of a cancelled operation cannot simply be revoked: a late Write of the peer would
// then end the connection, and all other operations with it. An [Abandoner] can detach the memory
// while the steering tag stays valid. Without one, the memory stays in use until the peer answers.
//
// # Abilities
//
// What not every provider can do is in separate interfaces: [Abandoner], [Poller],
// [SharedReceiver], [ProgressReporter], and for a Domain, [Importer]. Upper layers work without
// them. [As] finds those of an endpoint, also below wrappers. For a Domain, use a type assertion.
//
// # Providers
//
// Packages stag (steering tags) and ring (queues) are the kit of a software provider, and package
// transporttest is the contract as tests. Every provider must pass it.
//
// # Wrappers
//
// An endpoint may wrap another one, to count, delay or fail what passes. [WrapListener] and
// [WrapDialer] wrap a provider's endpoints as they are made. A wrapper must handle a request before
// it posts it: afterwards the request belongs to the endpoint below.
//
// A request that completes with an error has ended the connection. So a wrapper that fails one
//
//  1. posts only the requests ahead of it, and waits until they are complete;
//  2. closes the endpoint below and waits for its Done;
//  3. on a goroutine of its own, completes the failed request, flushes the rest, and closes its own
//     Done channel. Its Err says why.
//
// # Errors
//
// Providers return errors of type [*OpError], which name the operation, the provider and the peer,
// and wrap one of the Err variables where one applies. Errors after the end of a connection wrap
// net.ErrClosed.
package transport
