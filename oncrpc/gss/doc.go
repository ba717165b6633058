// Package gss is RPCSEC_GSS version 1 (RFC 2203): callers prove who they are, and arguments and
// results have a checksum, or are encrypted. A [ClientFlavor] is for oncrpc.NewClient, a
// [ServerFlavor] for oncrpc.ServerConfig.Flavors. Both run over any transport. What proves and
// protects is a mechanism of the GSS-API, as package krb5.
//
// # Use
//
// A client has one ClientFlavor for each principal and server, for all its connections and
// programs:
//
//	flavor := gss.NewClientFlavor(gss.ClientConfig{
//		Initiator: initiator, // of package krb5
//		Target:    "nfs@server.example.org",
//		Service:   gss.Integrity,
//	})
//	client := oncrpc.NewClient(conn, program, version, flavor)
//
// A server has one ServerFlavor for all its connections. Programs find a [*Caller] in
// oncrpc.Call.Identity; Program.Authorize is the place to demand one, and a least Service.
//
// # Over RDMA
//
// With None bulk data goes by RDMA as ever. With Integrity and Privacy it is part of the message,
// and nothing is placed directly: the message goes inline, or whole as position-zero and reply
// chunk (RFC 8166 section 8.2.2.3).
//
// # What it is not
//
// There are neither channel bindings (RFC 5403) nor assertions of several principals (RFC 7861).
// The header of a call, with program and procedure, can be read by anybody, whatever the service.
// So can the headers of RPC-over-RDMA, which nothing protects.
package gss
