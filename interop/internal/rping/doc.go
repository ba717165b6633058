// Package rping speaks the protocol of rping, the ping of librdmacm that comes with rdma-core, at
// both ends of a transport.Endpoint. A ping is
//
//	client   Send: where its source buffer is
//	server   RDMA Read of the source buffer
//	server   Send: go ahead
//	client   Send: where its sink buffer is
//	server   RDMA Write of what it has read to the sink buffer
//	server   Send: go ahead
//
// and one connection carries one ping after the other, until the client closes it. All Sends are 16
// bytes (Advert); the content of a go-ahead means nothing. The client speaks first, as MPA wants it
// (RFC 5044 section 7.1.2).
package rping
