// Package rping speaks the protocol of rping, the ping of librdmacm in rdma-core, as client and as
// server, over any transport.Endpoint. The command interop/rping is this package with flags.
//
// A ping is:
//
//	client   Send: where its source buffer is
//	server   RDMA Read of the source buffer
//	server   Send: go ahead
//	client   Send: where its sink buffer is
//	server   RDMA Write of what it has read to the sink buffer
//	server   Send: go ahead
//
// One connection carries one ping after the other, until the client closes it. All Sends have 16
// bytes (Advert); the content of a go-ahead is ignored. The client speaks first, as MPA requires
// (RFC 5044 section 7.1.2).
package rping
