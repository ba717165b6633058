// Package serve is the command serve: an NFS server for directories and for file systems in memory,
// over RDMA and TCP. [NewCommand] returns it.
//
// [Run] opens the ports and the exports, registers with rpcbind, prints how to mount the exports,
// and serves until its context ends. On SIGHUP it reads the file of --exports again.
package serve
