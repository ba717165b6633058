// Package rpcbind finds and registers the addresses of RPC programs with rpcbind (RFC 1833). It is
// a client for versions 3 and 4 of rpcbind and for version 2, the port mapper. All three are
// program
//  100000. It is served at TCP port 111 and, for processes of the same machine, at a Unix socket.
//
// A server registers itself:
//
//	c, err := rpcbind.DialLocal(ctx)
//	...
//	r, err := rpcbind.Register(ctx, c, rpcbind.Mappings(nfs3.Program, nfs3.Version, "tcp", addr))
//	...
//	defer r.Unregister(ctx)
//
// A client asks for the port of a program with [FindPort], which tries several places, or with
// [Client.FindPort]. A place is the rpcbind of a host, or a server that offers program 100000
// itself on its RDMA endpoint, usually at port 111. [Programs] makes a server offer it. Errors are
// an [*OpError] or a [*FindError].
//
// # Who may register
//
// RFC 1833 leaves that to implementations. The rpcbind of Linux distributions accepts SET and UNSET
// only from its own machine, and ignores the credentials of calls. The way to it matters:
//
//   - Over the Unix socket, it makes the peer's user the owner of the mapping: "superuser" for
//     root, or the user's number. Only the owner and root can remove the mapping.
//   - Over TCP from 127.0.0.1, the owner is "unknown", and any local process can remove the
//     mapping. Some builds and configurations refuse such calls.
//
// # Network identifiers
//
// A netid names a kind of transport: tcp, tcp6, udp, udp6, local (RFC 5665), and for RPC-over-RDMA
// rdma and rdma6 (RFC 8166). rpcbind accepts any of them, even if /etc/netconfig does not list it.
// But GETADDR ignores the netid in its argument, and answers for the transport of the call (RFC
// 1833 section 2.2.1). So over TCP, [Client.GetAddr] finds an rdma address by searching the whole
// list. The port mapper has no name for RDMA.
package rpcbind
