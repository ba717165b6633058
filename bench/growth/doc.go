// Package growth measures what connections cost: the server's memory for an idle connection, and
// whether a call takes longer when there are more connections.
//
//	go test -run '^$' -bench . -benchtime 1x ./bench/growth
//
// Server and client are two processes, connected by iWARP over 127.0.0.x. On Linux each has a CPU
// of its own. Each process holds one end of every connection, so the limit of open files
// (RLIMIT_NOFILE) must be larger than the number of connections.
//
//   - [BenchmarkIdle] reports the server's bytes of heap and stacks for each connection, after
//     garbage collection: for new connections, and after each has made calls, 64 at a time. The
//     memory of kernel sockets is not included. Then some of the connections are busy at once, and
//     at the end the benchmark checks that all are still up.
//   - [BenchmarkBusy] compares calls over 1, 100 and 1000 connections with calls over 10, one at a
//     time on each connection (package paired). The CPU ratio says how much more a call costs. Raw
//     TCP is compared likewise, because a larger number also costs the kernel and the caches more.
//     With one connection both processes sleep between messages, so most of its cost is waking up.
//
// BENCH_CONNS sets the number of idle connections, 10000 by default. A round of BenchmarkBusy takes
// 200ms by default. Package env has the other variables. Results are in
// docs/performance-history.md.
package growth
