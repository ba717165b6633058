// Package local measures NFS inside one process, over the loopback provider. The yardsticks are the
// best that the process can do without NFS: a memory copy, and a ping-pong between two goroutines
// over channels. Both are scenarios of package paired.
//
//	go test -run '^$' -bench Local -benchtime 1x ./bench/local
//
// The yardstick of READ copies from the pages that the file system returns to the buffer that READ
// fills. The yardstick of WRITE copies from the same buffer to memory as large as the file.
// Scenarios named "hot" use the same bytes each time; "file" goes through 64 MiB, more than a
// second-level cache holds.
//
// Which physical pages the kernel hands out changes the result, so each comparison starts several
// times with new memory. A ping-pong is fastest when both goroutines stay on one processor, which
// the Go scheduler does not guarantee. So the ping-pong, and what is compared with it, run with
// GOMAXPROCS at 1.
//
// A round takes 20ms by default. Package env has the variables, and docs/performance-history.md the
// results.
package local
