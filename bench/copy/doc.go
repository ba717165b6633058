// Package copy has a benchmark of the commands get and put: a large file goes to a server in memory and comes back, over RDMA and
// over TCP. Beside it, in the same rounds, the same file is copied by cp, and over a raw TCP connection from one process to another.
//
//	go test -run '^$' -bench . -benchtime 1x ./bench/copy
//
// prints the medians, and the medians of the ratios to cp and to raw TCP of the same round. All are whole commands, from the start
// of the process to its end; their files are on tmpfs, where there is one, so no disk is measured. Nothing is pinned to CPUs: each
// command runs as a user would run it.
//
//	BENCH_SIZE    bytes of the file, 1 GiB by default
//	BENCH_ROUNDS  rounds, 5 by default
package copy
