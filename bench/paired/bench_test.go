package paired

import "testing"

// BenchmarkPaired compares the yardsticks among themselves: what the ratios are worth on
// this machine, and what it gains to write messages together.
func BenchmarkPaired(b *testing.B) {
	Bench(b,
		Comparison{Yardstick: TCPStream, Candidate: TCPStream},
		Comparison{Yardstick: TCPRequests, Candidate: TCPRequests},
		Comparison{Yardstick: TCPPingPong, Candidate: TCPPingPong},
		Comparison{Yardstick: TCPMessages, Candidate: TCPMessages},
		Comparison{Yardstick: TCPMessages, Candidate: TCPMessagesBatched},
	)
}
