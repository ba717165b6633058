// Package nfs has benchmark scenarios for NFS over RDMA on any provider: READ and WRITE, NULL and
// GETATTR, one at a time and many in flight. The client is nfsclient, and the server is nfsserver
// with a memfs. Both have a usual setup. The yardsticks, in package paired, are raw TCP requests
// and responses of the same shape.
//
//	go test -run '^$' -bench Paired -benchtime 1x ./bench/nfs
//
// Both sides use the same amount of memory, 1 MiB or 4 at either end, so that a ratio shows the
// cost of the layers alone. Each call in flight has its own buffer at the client and its own part
// of one file at the server, and every later call reuses them. A WRITE needs one transfer more,
// because memfs takes new pages for it and then frees the old ones. Nothing here allocates after
// the setup.
//
// Package env has the variables, and docs/performance.md the results.
package nfs
