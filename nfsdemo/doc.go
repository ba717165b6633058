// Package nfsdemo is NFS version 3 with its MOUNT protocol (RFC 1813), as RPC programs that run
// over any transport of package oncrpc. It has no code of its own, only tests, benchmarks and
// examples of the whole stack, over RDMA and TCP. The parts are packages:
//
//   - nfsserver: the server's programs
//   - vfs: the interface of the file systems that it serves; vfs/vfstest: their conformance suite
//   - memfs, dirfs, iofs: file systems in memory, in a directory of the host, and from any fs.FS
//   - exports, users: export rules in the format of /etc/exports; users of the host
//   - nfsclient: a client with a method for each procedure
//   - nfsmount, nfsfs: find an export, and use its files with the functions of package os
//   - nfs3, mount3: wire types
//
// A server of a file system in memory:
//
//	fs, err := memfs.New(memfs.Config{})
//	...
//	nfs, err := nfsserver.New(nfsserver.Config{
//		Exports: []nfsserver.Export{{Path: "/export", FS: fs}},
//	})
//	...
//	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
//	srv.Handle(nfs.Programs()...)
//	err = rpcrdma.Serve(ctx, listener, srv, rpcrdma.Config{})
//
// The examples show servers and clients from end to end.
package nfsdemo
