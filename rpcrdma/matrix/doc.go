// Package matrix is a table of RPC calls, each a cell of what RPC-over-RDMA can do with a message:
// inline, padded, by read chunk, write chunk or reply chunk, at position zero, several of these at
// once, and with lengths around every limit. A cell says what is called, how the two ends are
// configured, and what must be on the wire, in each [rpcrdma.Dialect].
//
// The tests of the package run the cells over every provider, and take each message apart with a
// decoder that was written from the specifications alone: it shares nothing with packages rpcrdma,
// chunks and xdr. Tests elsewhere can run them over other providers, or where others look on.
package matrix
