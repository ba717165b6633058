// Package iwarp is a provider of package transport in software: RDMAP (RFC 5040) over DDP (RFC
// 5041) over MPA (RFC 5044, RFC 6581) over TCP, without RDMA hardware, kernel modules or
// privileges. Its peers are itself, Linux's siw, and adapters that speak iWARP.
//
// [Listen] and [Dialer] make connections. Each is set up by an exchange of MPA startup frames,
// package mpa; [SetupOf] tells what came of it. What a peer does wrong ends the connection with a
// Terminate message. Both ends learn the reason: an error that wraps *rdmap.Error and, where there
// is one, the error of package transport that says the same.
//
// No peer is waited for without end in the middle of anything: [Config].StallTimeout ends a
// connection whose peer stops within a segment or a message, or does not take what is sent. A peer
// that is slow but goes on, at 1 KiB a second or more, is not ended. One whose messages wait for
// memory here, and that closes or resets its connection, is noticed meanwhile.
//
// In the client-server model of MPA, the default, the dialing side must send first. What the
// listening side posts before that is held back, without end if need be. [Config].PeerToPeer lifts
// that.
//
// A peer that wants markers in what it receives gets them; [Config].Markers asks for them here.
// [Config].RNIC and Version are for peers that speak the RDMA Consortium's protocols, older than
// the RFCs (draft-carrier-rddp-rnic-interop-00): DDP and RDMAP version 0, with markers and CRC. We
// assume that version 0 differs from the RFCs in its number only. No such peer was at hand.
// [SiwConfig], [ChelsioConfig] and [IntelConfig] are for peers of today.
//
// A Send or Write completes when TCP has taken it. That it was placed shows in an answer of the
// peer's; that it was refused, in the end of the connection. The peer's steering tags and the data
// cross the network as they are, without encryption or authentication (RFC 5042): use it on
// networks that you trust, or over TLS or a tunnel, which [NewListener] and [Dialer].DialContext
// can have below iWARP.
package iwarp
