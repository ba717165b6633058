// Package sctp carries DDP streams over SCTP: the lower layer protocol beside MPA over TCP (RFC
// 5043, with the enhanced sessions of RFC 6581 section 7). Endpoints over it are package iwarp's:
//
//	l, err := sctp.Listen(ctx, ":20049", sctp.Config{})
//	listener, err := iwarp.NewListener(l, iwarp.Config{})
//
//	d, err := sctp.NewDialer(sctp.Config{})
//	dialer := iwarp.Dialer{DialContext: d.DialContext}
//	ep, err := dialer.Dial(ctx, "server:20049", nil)
//
// Ports are SCTP's. SCTP itself travels in UDP (RFC 6951), in port 9899 unless told otherwise, so
// that neither privileges nor the kernel's SCTP are needed. The kernel's can be the peer.
//
// # Streams
//
// The sessions of a Dialer with one address are streams of one association, and of another when
// that has no more. Each has its own order and its own end. A packet that is lost delays what comes
// behind it on its own stream alone; with Config.Draft, which has the order of the association, it
// delays all. What is sent on all of them shares the association's congestion control and receive
// window. There is no flow control for one stream: one whose consumer stops holds up the others for
// a second, and then its session ends (ErrOverrun).
//
// # What it costs
//
// SCTP is pion/sctp, in user space, a system call for each packet. That is a tenth of the
// throughput of iWARP over TCP, or less: see docs/performance.md. The reason to use it is a peer
// that has it.
//
// # Inside
//
//   - A socket has the UDP port. It does the startup of associations by itself: what it keeps until
//     a peer has proven its address is in a cookie that the peer has (socket.go, dial.go,
//     cookie.go).
//   - A link edits the packets between the socket and pion/sctp (link.go, pion.go).
//   - An association finds the session that a message is for (association.go).
//   - A Conn is a session: its setup by frames of package mpa, and the order of what comes
//     (conn.go, frames.go, control.go, draft.go). Its LLP is what package iwarp uses (llp.go).
package sctp
