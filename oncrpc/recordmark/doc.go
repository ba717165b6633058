// Package recordmark carries RPC over TCP, or over any other byte stream, with the record marking
// of RFC 5531 section 11.
//
// A [Conn] is an oncrpc.Transport: it makes calls and serves calls on one connection.
//
//	// Server:
//	err := recordmark.Serve(ctx, listener, srv, recordmark.Config{})
//
//	// Client:
//	conn, err := recordmark.Dial(ctx, "server:2049", recordmark.Config{})
//	client := oncrpc.NewClient(conn, program, version, oncrpc.AuthNone())
//
// [NewConn] uses a net.Conn of any other kind. [DialPrivileged] calls from a port below 1024, which
// some servers require. [Conn.RequestTLS] starts TLS (RFC 9289); its example serves and calls with
// certificates. Errors are an [*OpError] that wraps the cause; if the connection has ended, also
// net.ErrClosed.
//
// # Flow control
//
// RPC over TCP has no credits. These limits bound the calls on a connection:
//
//   - This end has at most Config.MaxCalls calls pending; further calls wait.
//   - When Config.MaxInFlight calls of the peer are unanswered, this end stops reading, and TCP
//     slows the peer down.
//   - While this end has calls pending, it keeps reading, because two ends that both stopped would
//     wait for each other. If the peer then has eight times MaxInFlight calls unanswered, it loses
//     the connection, unless calls can be answered within Config.CancelGrace.
//
// # Memory
//
// A connection takes about 50 KiB; [oncrpc.ServerConfig].MaxConns limits their number. Records and
// replies are limited as follows:
//
//   - A record gets 64 KiB when its peer announces it, then as much again as has arrived, up to
//     Config.MaxRecord.
//   - Records longer than 64 KiB, on all connections of one Serve, share Config.Memory. A record
//     reserves its full size when it outgrows 64 KiB, and gives it back when its call has been
//     answered. If the memory is not free, the record waits, and its connection is not read.
//   - A call and its unsent reply count in Config.Memory if they take more than 4 KiB together.
//     Each call being executed counts as 1 MiB. A connection whose next reply finds no memory is
//     not read, unless it has no unanswered call.
//   - Smaller records are limited by MaxInFlight alone.
//   - The length of a single reply is up to its handler.
//
// A connection of Dial or NewConn does not use Config.Memory. It holds at most MaxCalls replies and
// MaxInFlight calls of the peer.
//
// # How connections end
//
// A peer that ends its stream (FIN) between two records has closed the connection in both
// directions: the contexts of its pending calls end, their replies are not sent, and calls of this
// end fail with ErrClosedByPeer. There is no half-closed state.
//
// Closing a TCP connection while bytes are unread resets it, and the reset destroys replies on
// their way. So Server.Shutdown ends the stream once all calls are answered, then reads and
// discards what arrives, for at most a second, until the peer ends its stream. Likewise, a
// connection that cannot be written any more still accepts replies for at most a second. Conn.Close
// and Server.Close end a connection at once.
//
// A dead peer is found as follows:
//
//   - A host that vanished: by TCP keep-alive, which Dial and the listeners of package net enable.
//   - A peer that does not read: by Config.WriteTimeout.
//   - A peer that stops inside a record: by Config.RecordTimeout.
//   - A peer that reads but does not answer: only by the context of the call.
//
// An idle connection is never closed.
package recordmark
