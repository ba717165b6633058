// Package credits is the flow control of RPC-over-RDMA (draft-ietf-nfsv4-rpcrdma-08
// section 3.3, RFC 8166 section 3.3): the server grants, the client keeps within the grant.
//
// A [Window] is the client's side. It begins at one; afterwards the calls that may be
// under way are the most recent grant. A grant of zero counts as one. Calls wait for a credit
// in the order of their arrival.
//
// A [Granter] is the server's side. It never grants what receives have not been posted
// for: the calls that a client may still send are at most the grant, and a call has
// either consumed a receive already or will find one.
package credits
