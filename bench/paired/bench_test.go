package paired

import "testing"

// BenchmarkPaired compares the yardsticks with each other. It shows how reliable the ratios are on
// this machine, and the gain from writing several messages together.
func BenchmarkPaired(b *testing.B) {
	Bench(b,
		Comparison{Yardstick: TCPStream, Candidate: TCPStream},
		Comparison{Yardstick: TCPRequests, Candidate: TCPRequests},
		Comparison{Yardstick: TCPPingPong, Candidate: TCPPingPong},
		Comparison{Yardstick: TCPMessages, Candidate: TCPMessages},
		Comparison{Yardstick: TCPMessages, Candidate: TCPMessagesBatched},
	)
}
