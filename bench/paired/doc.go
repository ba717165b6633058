// Package paired compares the speed of two ways to do the same thing over the network, on machines
// whose speed changes from second to second.
//
// It never measures a candidate alone. The candidate and a yardstick, usually raw TCP, take turns
// in short rounds. Each round of the candidate is divided by the yardstick's round right before it.
// The result is the median of these ratios, with the quartiles.
//
// A [Scenario] is what is measured: a server, and a client that does n operations. Register it by
// name in every process of the binary, and name it in a benchmark or test. [TCPStream],
// [TCPRequests], [TCPPingPong], [TCPMessages] and [TCPMessagesBatched] are raw TCP.
//
//	func init() { paired.Register(paired.Scenario{Name: "mine", ...}) }
//
//	func TestMain(m *testing.M) {
//		paired.Main() // does not return in a child
//		os.Exit(m.Run())
//	}
//
//	func BenchmarkPaired(b *testing.B) {
//		paired.Bench(b, paired.Comparison{Yardstick: paired.TCPStream, Candidate: "mine"})
//	}
//
// One iteration is a whole comparison and takes seconds:
//
//	go test -run '^$' -bench Paired -benchtime 1x ./bench/paired
//
// Package env has the variables.
//
// # Processes
//
// Client and server are two processes, each on a CPU of its own, because two ends in one process
// share a scheduler and a heap. A scenario that needs one process says so ([Scenario].InProcess).
// [Compare] starts the processes by executing its own binary again, and controls them over pipes.
// Both hold the yardstick and the candidate at once, and one of the two is idle.
//
// Two equal connections may differ by a fifth for as long as they live, for example because the
// kernel chose different receive buffers. So the processes are started several times, and the
// result covers all rounds together.
package paired
