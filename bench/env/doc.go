// Package env reads from the environment how benchmarks are to measure. All of them have the same
// variables, as far as they have a meaning there, and say which defaults are their own:
//
//	BENCH_STARTS      how often the processes, or server and client, are started, 5 by default
//	BENCH_ROUNDS      rounds after each start, 4 by default
//	BENCH_TIME        length of a round, 100ms by default
//	BENCH_CPUS        CPUs of the server and the client, "0,1"; or "none". By default the first
//	                  two that this process may use
//	BENCH_CONGESTION  TCP congestion control of every socket, "reno" by default; "system" leaves
//	                  it alone. Pacing ones (bbr) slow down the loopback interface
//	BENCH_PROFILE     directory for CPU profiles of the candidate, of a run apart from the rounds
//	BENCH_SIZE        bytes of a file
//	BENCH_CONNS       connections
//	BENCH_FILES       small files
//	BENCH_GATE        if set, tests compare, and fail on ratios out of bounds: a busy machine
//	                  must not fail a change otherwise
//
// CPUs and congestion control can be chosen on Linux only. Elsewhere the rest works, and reports
// say what was not done.
package env
