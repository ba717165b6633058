// Package paired compares the speed of two ways to do the same thing over the network,
// on machines whose speed changes from second to second.
//
// A candidate is never measured alone. It and a yardstick, raw TCP for the most part, take turns in
// short rounds: yardstick, candidate, yardstick, candidate. Each round of the candidate is divided
// by the round of the yardstick right before it, and the median of these ratios is the result, with
// the quartiles beside it. What slows the machine down for a while slows down both (package
// rounds).
//
// # Processes
//
// Client and server are two processes, each on a CPU of its own: two ends in one process share a
// scheduler, a heap and sometimes a core. (A scenario that can be in one process only says so,
// [Scenario].InProcess.) [Compare] starts them by executing its own binary again, and tells them
// over pipes what to do. Both hold the yardstick and the candidate at once; the one whose turn it
// is not is idle.
//
// A connection keeps what it got in its first moments, good or bad: the kernel's choice of its
// receive buffer, the place of its memory. Two connections that do the same may therefore differ by
// a fifth for as long as they live. So the processes are started anew a few times, and the result
// is that of all rounds together.
//
// The test binary hands over to this package where it begins:
//
//	func TestMain(m *testing.M) {
//		paired.Main() // does not return in a child
//		os.Exit(m.Run())
//	}
//
// # Scenarios
//
// What is measured is a [Scenario], registered by its name in every process of the binary:
// a server, and a client that does n operations. Raw TCP is here: [TCPStream],
// [TCPRequests], [TCPPingPong], [TCPMessages] and [TCPMessagesBatched].
//
//	func init() { paired.Register(paired.Scenario{Name: "mine", ...}) }
//
//	func BenchmarkPaired(b *testing.B) {
//		paired.Bench(b, paired.Comparison{Yardstick: paired.TCPStream, Candidate: "mine"})
//	}
//
// One iteration of such a benchmark is a whole comparison and takes seconds:
//
//	go test -run '^$' -bench Paired -benchtime 1x ./bench/paired
//
// Package env has the variables that say how to compare.
package paired
