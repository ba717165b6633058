// Package transport is the contract between an upper layer that speaks in RDMA
// operations and a provider that carries them out: verbs vocabulary, Go manners.
//
// A provider connects two [Endpoint]s (queue pairs). Each end posts work
// requests (Send, Send with Invalidate, RDMA Write, RDMA Read, local
// invalidation) and receives, and exposes windows of its memory under steering
// tags for the other end's Writes and Reads. The abstract model is that of RFC
// 5040 section 1.1 and of section 2 of draft-ietf-nfsv4-rpcrdma-08:
//
//   - Sends complete at the receiver in the order in which they were posted.
//   - An RDMA Write completes at the sender alone. Every Write posted before a
//     Send has been placed when that Send is delivered.
//   - An RDMA Read completes at the requester. Later operations are not fenced
//     behind it unless they ask ([Fence]).
//   - A Send that finds no posted receive, or one too small, is fatal to the
//     connection, as on hardware. Credits in the layer above prevent this.
//     Receives may be promised instead, and take their memory from a pool shared by
//     many endpoints when a message comes ([SharedReceiver]).
//   - A tagged operation of length above zero is checked against its steering
//     tag: the tag must be alive, permit the access and cover the bytes. A failed
//     check places nothing and is fatal to the connection. Both ends learn that it
//     was a remote access error ([ErrRemoteAccess]). Operations of length zero are
//     not checked. A provider that cuts operations into segments checks each on
//     its own: those ahead of the one that fails have been placed.
//
// # Memory
//
// Every byte a provider touches lies in a [Slice]: memory allocated by a [Domain],
// or memory of the caller's named to the provider by an [Importer]. Either is told
// which [Access] the memory is for. Nothing above this package assumes that
// registration is free.
//
// A window over memory is one [Region], or several where the provider cannot make
// one of scattered memory. It ends by [OpInvalidate], a work request, or by
// [Endpoint.Revoke], which may block. Until it has ended, or was abandoned, the memory
// must not be used for anything else.
//
// # Limits
//
// [Info] says what one connection can carry. A work request or a receive beyond its
// limits is refused; [Info.CheckPost] is how a provider finds out. A window longer than
// MaxRegion becomes several Regions. The limits of private data are known before dialling
// ([Dialer], [Listener]).
//
// # Cancellation
//
// A peer's late Write to a dead steering tag ends the connection, so the memory
// of a cancelled operation cannot simply be revoked: that would kill its
// neighbours. A provider that can cut the tag loose from the memory implements
// [Abandoner].
//
// # Abilities
//
// Abilities beyond [Endpoint] are separate small interfaces: [Abandoner], [Poller],
// [SharedReceiver], [ProgressReporter], and [Importer] of a Domain. The layer above works
// without them. [As] finds those of an endpoint, also below a wrapper; of a Domain, a type
// assertion does.
//
// # Providers
//
// A software provider is made of packages stag, the table of steering tags, and ring, its queues.
// [Endpoint] has an example that is a whole one. It passes package transporttest, which is the
// contract as tests.
//
// # Wrappers
//
// An endpoint may wrap another one, to count, delay or fail what passes: [WrapListener] and
// [WrapDialer] have a provider's endpoints wrapped as they are made. What a wrapper does with
// a request, it does before it posts it: afterwards the request is the endpoint's. A request
// that completes with an error has ended the connection. So, to fail one, a wrapper
//
//  1. posts those ahead of it and no more, and waits for them to complete;
//  2. closes the endpoint below and waits for its Done;
//  3. completes the failed one, flushes the rest, and closes a Done of its own, all from a
//     goroutine of its own. Its Err says why.
package transport
