// Package credits is the flow control of RPC-over-RDMA: a server grants credits, and a client has
// no more calls under way than it was granted (draft-ietf-nfsv4-rpcrdma-08 sections 3.3, 3.8 and
// 11; RFC 8166 section 3.3).
//
// It only counts. Package rpcrdma posts the receives and sends the messages.
//
// A [Window] is the client's side. It begins with one credit. Callers that find none free wait in
// order of arrival:
//
//	credit, err := window.Acquire(ctx) // may wait
//	...                                // post a receive, send the call, get the reply
//	window.Release(credit, reply.Credits)
//
// A [Granter] is the server's side. It never grants a credit without a posted receive:
//
//	granter.CallReceived()
//	...                                // execute the call
//	grant, post := granter.Reply(credits.ReplyTerms{Requested: call.Credits, Allow: 64})
//	...                                // post that many receives, then send the reply
//
// Receives stay few: at most the server's maximum, and in the draft twice that plus 2.
//
// Some peers have fewer receives than they grant: [Window.LimitToRefills].
//
// docs/credits.md shows why every message finds a receive and every client gets a credit again,
// also with the draft's RDMA_DONEs, and what happens when a peer breaks the rules.
package credits
