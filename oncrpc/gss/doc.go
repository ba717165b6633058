// Package gss is RPCSEC_GSS version 1 (RFC 2203) for package oncrpc. It proves who calls, and
// protects arguments and results with a checksum or by encryption. Package krb5 is its mechanism
// for Kerberos 5.
//
// A client needs one [ClientFlavor] for each principal and server. All its connections and programs
// share it:
//
//	flavor := gss.NewClientFlavor(gss.ClientConfig{
//		Initiator: initiator, // of package krb5
//		Target:    "nfs@server.example.org",
//		Service:   gss.Integrity,
//	})
//	client := oncrpc.NewClient(conn, program, version, flavor)
//
// A server needs one [ServerFlavor], in oncrpc.ServerConfig.Flavors. Its programs find the caller
// in oncrpc.Call.Identity, as a [*Caller]. Use Program.Authorize to demand a Caller and a minimum
// Service. The package example is a complete server and client.
//
// Errors of creating a context are an [*OpError], which may wrap a [*StatusError].
//
// # Over RDMA
//
// With the service None, RDMA moves bulk data as usual. With Integrity or Privacy, bulk data is
// part of the message, and nothing is placed directly. The message goes inline, or as a whole in a
// position-zero read chunk or a reply chunk (RFC 8166 section 8.2.2.3).
//
// # Limits
//
// Channel bindings (RFC 5403) and assertions of several principals (RFC 7861) are not supported.
// Anybody can read the header of a call, with its program and procedure, whatever the service.
// Nothing protects the headers of RPC-over-RDMA.
package gss
