// Package env reads how benchmarks should measure from the environment. Each benchmark uses the
// variables that apply to it, and documents the defaults that it changes:
//
//	BENCH_STARTS      how often the processes, or server and client, are started; 5 by default
//	BENCH_ROUNDS      rounds after each start; 4 by default
//	BENCH_TIME        length of a round; 100ms by default
//	BENCH_CPUS        CPUs of the server and the client, "0,1"; or "none". By default the first
//	                  two that this process may use
//	BENCH_CONGESTION  TCP congestion control of every socket; "reno" by default. "system" does
//	                  not set it. Those that pace (bbr) slow down the loopback interface
//	BENCH_PROFILE     directory for CPU profiles of the candidate, from a run of its own
//	BENCH_SIZE        bytes of a file
//	BENCH_CONNS       connections
//	BENCH_FILES       number of small files
//	BENCH_GATE        if set, tests compare, and fail on ratios out of bounds. Without it, a busy
//	                  machine cannot fail a test
//
// For example:
//
//	BENCH_STARTS=20 BENCH_TIME=50ms go test -run '^$' -bench Paired -benchtime 1x ./bench/nfs
//
// Only Linux lets a process choose its CPUs and the congestion control. Elsewhere benchmarks run
// without that, and the report says so.
package env
