// Package recordmark carries RPC over TCP or any other byte stream: the record
// marking of RFC 5531 section 11.
//
// A [Conn] is an oncrpc.Transport: it calls, and it serves, both on one
// connection. [Dial] makes one to a server, [Serve] accepts them for an
// oncrpc.Server, [NewConn] puts one on a net.Conn of any other kind.
//
// # Flow control
//
// RPC over TCP has no credits. What bounds memory here is: at most
// Config.MaxCalls calls of this end are under way on a connection, further ones
// wait; when Config.MaxInFlight calls of the peer are unanswered, nothing more is
// read, and TCP holds the peer back. While this end has calls under way itself it
// reads on, because their replies are behind what it would not read, and two ends
// that both did so would wait for each other for ever; a peer that then goes beyond
// eight times MaxInFlight loses the connection.
//
// # Dead peers
//
// An idle connection is left alone, however long. A peer that vanished is found by
// TCP keep-alives, which Dial and the listeners of package net turn on; one that
// is there and does not read is found by Config.WriteTimeout; one that reads and does
// not answer is for the caller's context to find.
package recordmark
