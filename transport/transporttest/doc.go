// Package transporttest is the conformance suite for providers of package transport. Every provider
// must pass it.
//
// A provider runs it in a test of a few lines:
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
// Run it with -race, too: it uses memory in ways that let the race detector see mistakes. The tag
// soak repeats more often what luck decides, such as how far a Write is when its window ends.
//
// # What it asserts
//
// It asserts what the contract promises, and no more:
//
//   - A Send or Write that completes without error has been sent. If the peer refuses it, both ends
//     may learn that only from the end of the connection and its reason. For a bad tagged operation
//     the reason is ErrRemoteAccess, or a more exact error with Factory.ReportsCauses. With
//     Factory.MayNotKnow an end may learn no reason.
//   - An endpoint is prepared once, and that one is connected, or ends by itself.
//   - What was refused is not placed. Operations that must not be placed in part fit in one segment
//     of any network.
//   - Nothing about time. The suite waits for events, and gives up after two minutes.
//   - An upper layer that ends a goroutine of the provider (runtime.Goexit) ends its connection and
//     no other.
//   - Each request completes once and in order. Messages fill receives in the order in which these
//     were posted. No goroutine of the provider is left at the end.
//
// Every subtest with a connection runs twice: once the dialing end is the active one, once the
// listening end.
//
// # Limits
//
// The suite stays within transport.Info. It needs messages and Regions of 4096 bytes, lists of one
// element, and 32 Regions. Abilities, and remote invalidation, are tested if the provider has them.
package transporttest
