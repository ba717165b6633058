// Package rpcbind is a client of the service that knows at which address each RPC program of a
// machine is served: rpcbind, versions 3 and 4, and its predecessor, the port mapper, version 2
// (RFC 1833). All three are program 100000, at port 111 of TCP and, for processes of the same
// machine, at a Unix socket. A server can offer the same program itself, to tell its callers what
// else it serves: see [Programs].
//
// A server announces itself:
//
//	c, err := rpcbind.DialLocal(ctx)
//	...
//	r, err := rpcbind.Register(ctx, c, rpcbind.Mappings(nfs3.Program, nfs3.Version, "tcp", addr))
//	...
//	defer r.Unregister(ctx)
//
// # Who may register
//
// RFC 1833 leaves that to the implementation. The rpcbind of Linux distributions accepts SET and
// UNSET from processes of its own machine alone. Over the Unix socket it asks the kernel for the
// user of the peer and makes him the mapping's owner ("superuser" for root, the number for others):
// nobody but he and root can remove the mapping again. Over TCP from 127.0.0.1, where an rpcbind
// may be built or started not to accept them, the owner is "unknown", and anybody there can remove
// it. Credentials of the calls do not matter.
//
// # Network identifiers
//
// A netid names a kind of transport: tcp, tcp6, udp, udp6, local (RFC 5665), and for RPC-over-RDMA
// rdma and rdma6 (RFC 8166). rpcbind takes any of them, whether /etc/netconfig has it or not. But
// GETADDR answers for the transport over which it was asked, whatever its argument says (RFC 1833
// section 2.2.1), so over TCP nobody can ask it for rdma: [Client.GetAddr] looks through the whole
// list then. Over RPC-over-RDMA that is what it answers for. The port mapper has no name for RDMA
// at all.
//
// # Finding a program
//
// A client asks for the port of a program at the rpcbind of the host, over TCP, or at a server that
// offers the program 100000 on an RDMA endpoint of its own: at port 111, or at another port that it
// knows. [FindPort] asks at one place after the other, and [Client.FindPort] at one.
package rpcbind
