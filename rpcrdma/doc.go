// Package rpcrdma carries ONC RPC over RDMA: RPC-over-RDMA version 1
// (draft-ietf-nfsv4-rpcrdma-08, RFC 8166) as a transport for package oncrpc, on any
// provider of package transport.
//
// A call begins with a Send that carries a header and, where they fit, the RPC
// message. Bulk arguments that do not fit go as read chunks, which the server
// fetches by RDMA Read; a message that is long without them is itself a read chunk,
// at position zero. Bulk results land by RDMA Write in the buffers that the caller
// named, and a reply that may be long gets a reply chunk. Which way each byte goes follows from
// the inline sizes, the rest is configuration.
//
// # Memory
//
// Each end posts a receive with each of its own calls, one for the peer's first call when the connection begins, and
// before each reply as many as its grant calls for. What a call makes the server hold,
// its arguments and its largest reply together, is reserved before it
// starts; calls that do not fit the budget wait, and grants shrink meanwhile.
//
// # Cancellation
//
// A call returns when its context ends, at whatever stage. Its memory is cut loose first
// (transport.Abandoner): the peer may go on writing into a sink and
// reading from a copy, and neither the caller nor other calls notice.
//
// # Version and dialect
//
// The rules are those of RFC 8166, which is what Linux speaks. Everything sent says version 1.
package rpcrdma
