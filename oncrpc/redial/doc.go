// Package redial is an oncrpc.Transport that reconnects. It spreads calls over one or several
// connections that it dials with a given function. When a connection ends, it dials again and
// repeats the pending calls that may be repeated.
//
//	conn, err := redial.New(ctx, func(ctx context.Context) (oncrpc.Transport, error) {
//		return recordmark.Dial(ctx, "server:2049", recordmark.Config{}) // or rpcrdma.Dial
//	}, redial.Config{Wait: time.Minute})
//	client := oncrpc.NewClient(conn, program, version, oncrpc.AuthNone())
//	err = client.Do(ctx, &oncrpc.Request{Procedure: 1, Reply: &reply, MayRepeat: true})
//
// The package example is a complete program. Errors are an [*OpError], or the error of a
// connection.
//
// # Which calls are repeated
//
// A call is repeated if Request.MayRepeat is set and its connection ends before the reply arrives.
// It keeps its bytes and its transaction id. All connections draw ids from one counter, so no two
// pending calls share one. A call without MayRepeat fails with the error of the connection, and may
// or may not have been executed. The same holds for all calls if Config.Wait is 0. Errors that do
// not end the connection go to the caller: answers of the peer, a message that is too long, the end
// of a context.
//
// With Request.Once, a call is repeated only where the server knows the caller again. Over TCP that
// is a connection from the same port (oncrpc.PortCaller): the DialFunc gets the address of the lost
// connection in its context, where recordmark.Dial finds it. Over RDMA it is a newer connection: if
// only older ones are left, the call waits for one. If another socket has taken the port, or the
// DialFunc goes from RDMA to TCP or back, the call fails with ErrPortLost.
//
// A call of which nothing was sent (oncrpc.ErrNotSent) goes over the next connection in any case.
// Request.Repeated tells whether a call may have been sent more than once.
//
// # How often a repeated call is executed
//
// At least once. The server may have executed a call whose reply was lost, and executes it again
// unless it recognizes the copy. It may even execute the first copy late, after it has answered the
// second and later calls, because a lost connection's data can still be on its way.
//
// Exactly once needs Request.Once, and a server with a duplicate request cache that has not
// restarted meanwhile:
//
//   - A server of package oncrpc has one for procedures marked Once, such as those of NFS that
//     change files. It keeps replies for two minutes, or as long as its memory for them lasts
//     (oncrpc.ServerConfig.ReplyMemory). A copy that arrives later is executed.
//   - Linux has one for NFS calls that change something.
//
// # How long calls wait
//
// While there is no connection, calls wait for one: at most Config.Wait after the first of them
// found none. Then they fail with an *OpError that wraps the error of the last attempt to dial, and
// the next call starts over. There is one attempt at a time: the first at once, the next after 100
// ms, then after pauses that double up to 5 s. An attempt takes at most 15 s. A connection that
// ends within a second counts as a failed attempt.
//
// A call may lose one connection after the other, if it makes the peer close them. It fails when
// Config.Wait has passed since it lost the first.
//
// A call whose context ends fails at once, whatever it waits for.
//
// If no call is pending, a lost connection is not replaced until the next call. A client that its
// server calls back should therefore use Conn.Ping or Conn.Connect regularly.
//
// # Which connection a call uses
//
// A call uses the connection with the fewest credits in use (oncrpc.CreditReporter). Over RDMA, a
// call whose context has ended keeps its credit until the server answers. If such calls use all
// credits of a connection, it is starved, and gets no calls while another connection has credits.
// If all are starved, a call joins the shortest queue and stays there. While every connection has
// credits in use and there are fewer than Config.Conns, one more is dialled.
//
// # Dead peers
//
// A connection is closed, and its calls repeated, in any of these cases:
//
//   - Calls are pending, but no reply has arrived for Config.Stall.
//   - At least three calls in a row were abandoned, over at least Config.Stall, without a reply in
//     between.
//   - Abandoned calls have starved it, and neither a reply nor a credit has come back for
//     Config.Stall. The server then sees the contexts of its handlers end.
//
// Any reply to a pending call counts, also to Ping, and also an error (oncrpc.ErrAnswered). A peer
// that answers some calls but not others is not dead: a call without a reply waits until its
// context ends.
package redial
