// Package sctp carries DDP streams over SCTP (RFC 5043, with the enhanced sessions of RFC 6581
// section 7), as an alternative to MPA over TCP. Use it below package iwarp:
//
//	l, err := sctp.Listen(ctx, ":20049", sctp.Config{})
//	listener, err := iwarp.NewListener(l, iwarp.Config{})
//
//	d, err := sctp.NewDialer(sctp.Config{})
//	dialer := iwarp.Dialer{DialContext: d.DialContext}
//	ep, err := dialer.Dial(ctx, "server:20049", prepare)
//
// See the package example for the whole program. Ports in addresses are SCTP ports. SCTP itself
// travels in UDP (RFC 6951), by default on port 9899, so it needs neither privileges nor the
// kernel's SCTP. The peer may be the kernel's SCTP.
//
// # Streams
//
// The sessions of a Dialer with one address are streams of one association, and of another when
// that has none left. Each stream has its own order and its own end. A lost packet delays only what
// follows it on its own stream; with Config.Draft, which uses the order of the association, it
// delays all streams. All streams share the association's congestion control and receive window.
// There is no flow control for a single stream. If the consumer of one stream stops, the others
// wait for a second, and then its session ends with ErrOverrun.
//
// # Cost
//
// SCTP is pion/sctp, in user space, with a system call for each packet. It has a tenth of the
// throughput of iWARP over TCP, or less: see docs/performance.md. The reason to use it is a peer
// that requires it.
//
// # Errors
//
// Listen and NewDialer fail with an error that wraps ErrConfig if their Config is wrong.
// Associations and sessions end with ErrGone, ErrRestarted, ErrOverrun, ErrViolation, an
// *AbortError or an *IndicationError.
//
// # Inside
//
//   - A socket has the UDP port. It does the startup of associations by itself. Until a peer has
//     proven its address, all that the socket knows of it is in a cookie that the peer holds
//     (socket.go, dial.go, cookie.go).
//   - A link edits the packets between the socket and pion/sctp (link.go, pion.go). Its inbound
//     takes the peer's DATA out of them, makes messages of fragments, and sends SACKs (inbound.go,
//     fragments.go, tsns.go).
//   - An association finds the session for each message (association.go).
//   - A Conn is a session: its setup by frames of package mpa, and the order of its messages
//     (conn.go, frames.go, control.go, draft.go). Its LLP is what package iwarp uses (llp.go).
package sctp
