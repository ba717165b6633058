// Package recordmark carries RPC over TCP or any other byte stream: the record
// marking of RFC 5531 section 11.
//
// A [Conn] is an oncrpc.Transport: it calls, and it serves, both on one connection. [Dial] makes
// one to a server, [Serve] accepts them for an oncrpc.Server, [NewConn] puts one on a net.Conn of
// any other kind. [DialPrivileged] is for servers that want their callers to be privileged.
//
// # Flow control
//
// RPC over TCP has no credits. These bound the memory of a connection:
//
//   - At most Config.MaxCalls calls of this end are under way; further ones wait.
//   - At Config.MaxInFlight unanswered calls of the peer, nothing more is read, and TCP holds the
//     peer back.
//   - While this end has calls under way it reads on, since two ends that both stopped would wait
//     for each other. A peer beyond eight times MaxInFlight then loses the connection, unless its
//     calls can be answered within Config.CancelGrace.
//
// # Memory
//
// A connection costs some 50 KiB. [oncrpc.ServerConfig].MaxConns bounds them. A peer gets memory
// for what it has sent: 64 KiB for a record that it announces, then as much again as has arrived,
// up to Config.MaxRecord. Records of more than 64 KiB, on all connections of one Serve, share
// Config.Memory: their full size is reserved when they outgrow 64 KiB, and given back when the call
// has been answered; one that does not fit waits, and its connection is not read. Smaller records
// are bounded by their number times MaxInFlight alone. A record that does not go on for
// Config.RecordTimeout ends its connection. A connection of Dial or NewConn has no such budget: it
// holds at most MaxCalls replies, and MaxInFlight calls of the peer.
//
// Replies that wait for their peer to read count in Config.Memory, too, if they and their calls are
// of more than 4 KiB, and so does 1 MiB for each call that is being executed. A connection for
// whose next reply there is no memory is not read, unless it has no call under way.
// Config.WriteTimeout ends one whose peer does not take its replies. How long a single reply is is
// for handlers to bound.
//
// # The end of a stream
//
// A peer that ends its stream (FIN) between two records has closed the connection, for both
// directions: the contexts of its calls under way end, their replies are not sent, and calls of
// this end fail with ErrClosedByPeer. There is no half-closed state in which calls go on.
//
// Closing a TCP connection with bytes unread resets it, and the reset destroys replies on their
// way. Therefore Server.Shutdown, when all calls are answered, ends the stream and reads on,
// dropping what comes, until the peer has ended its own, for a second at most; and a connection
// that cannot be written to any more takes the replies that still arrive, for a second at most.
// Conn.Close and Server.Close end it at once.
//
// # Dead peers
//
// An idle connection is left alone, however long. A peer that vanished is found by
// TCP keep-alives, which Dial and the listeners of package net turn on; one that
// is there and does not read is found by Config.WriteTimeout; one that reads and does
// not answer is for the caller's context to find.
package recordmark
