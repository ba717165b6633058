// Package growth shows what connections cost: the memory that one holds on the server while it is
// idle, and whether a call gets dearer with their number. It consists of benchmarks:
//
//	go test -run '^$' -bench . -benchtime 1x ./bench/growth
//
// The server is a process of its own, and so is the client; they are connected by iWARP over
// 127.0.0.x. Each holds one end of all connections, so that both need more than that many
// descriptors (RLIMIT_NOFILE). On Linux each is on a CPU of its own.
//
// [BenchmarkIdle] makes connections and reports the bytes of heap and stacks that the server has
// for each, after garbage collection: when they have just been made, and when each has made 64
// calls at a time. Memory of the kernel's sockets is not in it. Then a part of them is busy at
// once, and in the end all must still be there.
//
// [BenchmarkBusy] compares calls over 1, 100 and 1000 connections, one at a time on each, with
// calls over 10 (package paired): the CPU ratio says how much dearer a call gets. A raw TCP
// ping-pong over as many connections is compared likewise, since the caches and the kernel have
// their share in what a larger number costs. Over a single connection both processes sleep between
// messages, and nearly all of what a call costs there is waking up, which is rare over 10.
//
// Package env has the variables. By default 10000 connections are idle, and a round of
// BenchmarkBusy takes 200ms.
package growth
