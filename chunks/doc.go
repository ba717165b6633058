// Package chunks is the part of RPC-over-RDMA that says which bytes of a message travel
// beside it: the read list, the write list and the reply chunk of a transport
// header (draft-ietf-nfsv4-rpcrdma-08 sections 3.4 to 3.7 and 4.3; RFC 8166
// section 3.4), how a call is laid out with them, and how a message is put together
// from them.
//
// It computes and checks; moving the bytes is the business of package rpcrdma.
package chunks
