// Package local measures NFS inside one process, over the loopback provider, against
// what the same process can do at best: a memory copy, and a ping-pong between two goroutines over
// channels.
//
// Yardstick and candidate are scenarios of package paired, both ends of which are in this process.
//
//	go test -run '^$' -bench Local -benchtime 1x ./bench/local
//
// # Working sets
//
// Where bytes move, the yardstick is one copy of as many bytes. That of READ copies from the very
// pages that the file system hands out, to the buffer that the READ fills; that of WRITE copies
// from the same buffer to memory of the same size as the file. "hot" is the same bytes again and
// again, "file" goes through 64 MiB, which no second-level cache holds.
//
// A hot transfer and its buffer may fill the second-level cache by themselves. All that the call
// touches besides, code and data, comes from the third level then, which a plain copy does not pay
// for; see docs/performance-history.md. How much of it that is depends on which physical pages the
// kernel has given out. So each comparison starts anew a few times, with other memory, and the
// result is that of all rounds together.
//
// # One processor or all
//
// A ping-pong is fastest if both goroutines stay on one processor, and the scheduler of Go does not
// always see to that. So what is compared with it runs with GOMAXPROCS at 1, both sides.
//
// Package env has the variables. A round takes 20ms by default.
package local
