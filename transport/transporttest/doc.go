// Package transporttest is a conformance suite for providers of package transport.
//
// A provider passes it by a test of a few lines:
//
//	func TestConformance(t *testing.T) {
//		transporttest.Run(t, transporttest.Factory{
//			New: func(tb testing.TB, o transporttest.Options) (
//				transport.Listener, transport.Dialer, string) {
//				cfg := Config{
//					IRD: o.IRD, ORD: o.ORD, SendDepth: o.SendDepth, RecvDepth: o.RecvDepth,
//				}
//				l, err := Listen(tb.Context(), "127.0.0.1:0", cfg)
//				if err != nil {
//					tb.Fatal(err)
//				}
//				return l, NewDialer(cfg), l.Addr().String()
//			},
//		})
//	}
//
// The suite asserts what the contract promises and no more, in terms that hold in
// process as over a network:
//
//   - A Send or Write that completes without error has been sent. That the peer
//     refused it may show only in the end of the connection, at both ends, for the
//     reason that the contract names. That is ErrRemoteAccess for whatever is wrong with
//     a tagged operation, unless Factory.ReportsCauses says that the provider tells more.
//   - What was refused is not placed. Operations that must not be placed in part are
//     small enough for one segment of any network.
//   - Nothing is asserted about time. The suite waits for events, and gives up when
//     one has not come for half a minute.
//
// It respects the limits of transport.Info, which may be as small as 4096 bytes for a
// message and for a Region, one element for a list, and 32 Regions. What is optional, the
// abilities among it, it tests where it is there.
//
// Every subtest that uses a connection runs twice, with the dialing and with the
// listening end as the active one. Throughout, each request must complete once and in
// order, messages must fill the receives in the order in which these were posted,
// and the provider must leave no goroutine behind. Run it with -race: much of what it
// does to memory is there for the race detector to see.
package transporttest
