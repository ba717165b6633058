// Package post posts the work requests of a connection.
//
// A [Queue] posts chains of requests in order, and keeps those for which the endpoint has no room.
// It also paces replies with bulk data, so that others need not wait behind all of it. A [ReadGate]
// keeps RDMA Reads within what the connection was set up for, and paces them, too.
//
// A [Chain] has the requests of one message, with the memory for them, for reuse.
package post
