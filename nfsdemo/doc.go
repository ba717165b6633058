// Package nfsdemo holds NFSv3 and MOUNTv3 (RFC 1813) as an RPC program that runs on any transport
// of package oncrpc. The parts are packages of their own:
//
//   - nfs3, mount3: wire types
//   - vfs: what lies between the server and its file systems; vfs/vfstest is their conformance
//     suite
//   - memfs: a file system in memory; dirfs: a directory of the host
//   - nfsserver: the programs
//   - nfsclient: a typed client; nfsfs: its files, as Go programs know files
//
// This one has the tests and benchmarks of the whole, over RDMA and TCP.
package nfsdemo
