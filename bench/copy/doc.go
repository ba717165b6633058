// Package copy benchmarks the commands get and put beside other programs that copy files. All are
// measured as whole commands, from the start of the process to its end, in the same rounds. None is
// pinned to CPUs, because users do not pin them either.
//
//	go test -run '^$' -bench Copy -benchtime 1x ./bench/copy
//
// copies a large file to a server in memory and back, over RDMA and over TCP. Beside it are cp, and
// a raw TCP connection between two processes. It prints the median times, and the median ratios to
// cp and to raw TCP of the same round. The files are on tmpfs where there is one, so no disk is
// measured.
//
//	go test -run '^$' -bench Small -benchtime 1x ./bench/copy
//
// copies many files of 1 to 4 KiB to a server that exports a directory on disk, and back, without
// delay and with 1 ms each way. Beside it are cp -r, and rsync with a daemon on this host. It
// prints the median times, and their ratios to cp. A relay in user space delays the NFS connection
// only; runs without delay use the relay too. Put syncs each file to stable storage before it gives
// it its name; cp and rsync do not.
//
//	BENCH_SIZE    bytes of the large file, 1 GiB by default
//	BENCH_FILES   small files, 20000 by default
//	BENCH_ROUNDS  rounds, 5 by default; 3 for small files
//
// docs/performance.md has the results.
package copy
