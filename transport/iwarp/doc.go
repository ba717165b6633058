// Package iwarp is a provider of package transport in software: RDMAP (RFC 5040) over DDP (RFC 5041) over
// MPA (RFC 5044, RFC 6581) over TCP, without RDMA hardware, kernel modules or privileges. Its peers are itself, Linux's siw, and
// adapters that speak iWARP.
//
// [Listen] and [Dialer] make connections. Each is set up by an exchange of MPA startup frames, package mpa; from there on it is an
// endpoint that cuts work requests into DDP segments (outgoing.go), sends them in batches (sending.go), and places what comes
// (incoming.go, tagged.go, untagged.go). What a peer does wrong ends the connection with a Terminate message (terminate.go, end.go).
//
// In the client-server model of MPA, the default, the dialing side must send first: what the listening side posts before that is held back.
// [Config].PeerToPeer lifts that.
package iwarp
