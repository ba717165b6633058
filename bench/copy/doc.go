// Package copy has benchmarks of the commands get and put, each beside others that do the same, in
// the same rounds. All are whole commands, from the start of the process to its end. Nothing is
// pinned to CPUs: each command runs as a user would run it.
//
//	go test -run '^$' -bench Copy -benchtime 1x ./bench/copy
//
// has a large file go to a server in memory and come back, over RDMA and over TCP; beside it cp,
// and a raw TCP connection from one process to another. It prints the medians, and the medians of
// the ratios to cp and to raw TCP of the same round. The files are on tmpfs, where there is one, so
// no disk is measured.
//
//	go test -run '^$' -bench Small -benchtime 1x ./bench/copy
//
// has many files of 1 to 4 KiB go to a server that exports a directory of the disk, and come back,
// with no delay and with 1 ms each way; beside it cp -r, and rsync with a daemon on this host. It
// prints the median times, and their ratios to cp. The delay is made by a relay in user space, on
// the connection of NFS alone, through which they go without delay, too. Put has each file on
// stable storage before it has its name; cp and rsync leave that to the system.
//
//	BENCH_SIZE    bytes of the large file, 1 GiB by default
//	BENCH_FILES   small files, 20000 by default
//	BENCH_ROUNDS  rounds, 5 by default; of small files 3
package copy
