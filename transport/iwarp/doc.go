// Package iwarp provides RDMA in software over TCP: RDMAP (RFC 5040) over DDP (RFC 5041) over MPA
// (RFC 5044, RFC 6581). It is a provider of package transport, and needs no RDMA hardware, kernel
// modules or privileges. The peer may be this package, Linux's siw, or an adapter that speaks
// iWARP.
//
// One side listens, the other dials:
//
//	l, err := iwarp.Listen(ctx, ":20049", iwarp.Config{})
//	req, err := l.Accept(ctx)
//	ep, err := req.Accept(ctx, prepare) // or req.Reject
//
//	ep, err := iwarp.Dialer{}.Dial(ctx, "server:20049", prepare)
//
// To prepare means to post the first receives ([transport.Preparation]). See the package example
// for Sends, Writes and Reads, ExampleNewListener_tls for iWARP over TLS, and package sctp for
// iWARP over SCTP.
//
// # Peers
//
// [SiwConfig], [ChelsioConfig] and [IntelConfig] are presets for present-day peers. Markers are
// sent to a peer that wants them; [Config].Markers asks for them here. [Config].RNIC and Version
// are for peers that speak the protocols of the RDMA Consortium, which are older than the RFCs: DDP
// and RDMAP version 0, with markers and CRC (draft-carrier-rddp-rnic-interop-00). We assume that
// version 0 differs from the RFCs in its number only. No such peer was at hand.
//
// # Limits
//
//   - The dialing side must send first. What the listening side posts before is held back until
//     then, however long that takes. [Config].PeerToPeer lifts this rule of MPA's client-server
//     model.
//   - A Send or Write completes when TCP has taken it. Only an answer from the peer shows that it
//     was placed. A refusal shows as the end of the connection.
//   - Steering tags and data cross the network in clear, without authentication (RFC 5042). Use a
//     trusted network, or TLS or a tunnel below iWARP ([NewListener], [Dialer].DialContext).
//
// # Errors
//
// A protocol violation ends the connection with a Terminate message. Both ends get an error that
// wraps *rdmap.Error and, if there is one, the error of package transport with the same meaning.
//
// [Config].StallTimeout ends a connection whose peer stops within a segment or a message, or does
// not take what is sent. A slow peer that moves at least 1 KiB a second is not ended. If a peer
// closes or resets its connection while its message waits for memory here, that is noticed
// meanwhile; for connections other than TCP, see [NewListener].
//
// [SetupOf] tells what the two sides agreed on. [Config].Counters and Logger record what goes
// wrong.
package iwarp
