// Package serve is the command serve: an NFS server of directories and of files in memory, over
// RDMA and TCP, which registers with rpcbind and says how it is mounted.
package serve
