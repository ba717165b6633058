// Package oncrpc is ONC RPC version 2 (RFC 5531): calls and replies,
// authentication flavours, a [Client], a [Server], and the [Transport] that both
// run on. It knows nothing of RDMA; a program written for it is served over RPC on
// TCP (package recordmark) and over RPC-over-RDMA alike.
//
// # Bulk data
//
// Arguments and results are encoded with package xdr, which leaves bulk data out
// of the stream by reference. Whether that data then travels inside the message or
// beside it is the transport's business. These rules say who owns which bytes:
//
//   - Bulk data of a call belongs to the transport until the call returns.
//   - The buffers named in [Request.Results] belong to the transport until the call
//     returns, in whichever way it returns, and are not touched afterwards.
//   - Bulk data of a reply belongs to the transport until it calls the release that
//     came with it.
//   - Bulk arguments of a handler are valid until it returns, and those that its reply refers to until that
//     has left. A handler may take them for longer (xdr.Bulk.Take).
//
// # Calls that come twice
//
// No message is lost on a connection. But a client whose connection ends before the reply has come does not know whether its call was
// executed, and sends it again over another one. Procedures that must not be executed twice then are marked [Procedure.Once]: a
// server keeps their replies and repeats them, whichever transport the call comes by.
package oncrpc
