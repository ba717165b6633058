// Package redial is an oncrpc.Transport that outlives its connections. It is given a function that
// dials, and spreads calls over one connection or several; when one ends, it dials again and sends
// the calls that were under way, and may be sent again, once more.
//
// # What is sent again
//
// A call whose Request.MayRepeat is set, when its connection ends before the reply has come. It has
// the same transaction id then, and the same bytes: ids are of one counter for all connections, so
// that no two calls under way share one. A call without MayRepeat fails with the error of the
// connection, and may have been executed or not. So does any call if Config.Wait is 0. Errors that
// do not mean that the connection has ended are the caller's: answers of the peer, a message that
// is too long, the end of a context.
//
// # What that means for its execution
//
// At least once. A server may have executed a call whose reply is lost, and executes it again
// unless it knows better. It may even execute the first one late, after the second has been
// answered and others behind it: what was sent on a connection that was lost can still be on its
// way.
//
// Exactly once needs a server that keeps replies (a duplicate request cache) and finds them by the
// transaction id, from whichever port of the caller's address the call comes, and that has not
// restarted in between. That of package oncrpc does so for procedures marked Once, those of NFS
// that change files or their data: for ten minutes, or as long as its memory for replies lasts
// (oncrpc.ServerConfig.ReplyMemory). A call that comes later than that is executed. That of Linux
// does so for NFS calls that change something, if they come over RDMA: over TCP another port is
// another caller to it.
//
// Request.Repeated tells that a call was sent more than once; it is set whenever a first connection
// had been given the call, also if that had not sent it yet.
//
// # How long calls wait
//
// While there is no connection, calls wait for one: at most Config.Wait from when the first of them
// found none. Then they fail with an *OpError that wraps the error of the last attempt to dial, and
// a later call begins anew. One attempt is made at a time, the first at once, the next after 100
// ms, then after pauses that double up to 5 s; no attempt lasts longer than 15 s. Connections that
// end within a second of being made count as attempts do.
//
// A call that loses one connection after the other, because it makes the peer end them, is not sent
// again when Config.Wait has passed since it lost the first.
//
// A context that ends ends its call at once, whatever it waits for.
//
// A connection that ends while no call is under way is not missed before the next call. A client
// that a server calls back makes one now and then: Conn.Ping, or Conn.Connect.
//
// # Which connection a call takes
//
// A call takes the connection with the fewest credits in use (oncrpc.CreditReporter). Over RDMA, a
// call whose context has ended uses its credit until the server answers, so that calls for which
// nobody waits can starve a connection: all its credits are in use. A starved connection gets no
// call while another has credits left. If all are starved, a call goes where the fewest wait, and
// stays there. While all have credits in use and there are fewer than Config.Conns, one more is
// dialled.
//
// # Dead peers
//
// A connection from which no reply comes for Config.Stall, though there are calls under way, is
// closed, and so they are sent again. So is one over which three calls or more have been given up
// in a row for as long, without any answer between them.
//
// Any reply to a call that is under way counts, one to Ping, too, and one that is an error
// (oncrpc.ErrAnswered). A peer that answers some calls and leaves one without a reply is not dead:
// that call waits until its context ends.
//
// A connection that such calls have starved gets no calls while others have credits. It is closed,
// too, if no reply comes and no credit comes back for Config.Stall, and another is dialled when
// calls need it. The server sees the contexts of its handlers end.
package redial
