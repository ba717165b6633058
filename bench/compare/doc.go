// Command compare measures other NFS implementations and ours in the same run: our server and
// client over iWARP; the servers willscott/go-nfs and NFS-Ganesha; and the clients
// vmware/go-nfs-client, willscott/go-nfs-client and libnfs. All run on 127.0.0.1.
//
//	cd bench/compare && go run .
//
// It is a module of its own, so that users of ours do not depend on what the others need.
// docs/performance.md has the results.
//
// # Method
//
// A comparison is one workload, done by ours and by one other in turns: theirs, ours, theirs, ours
// (package paired). The ratio of two rounds says how many times as fast ours is. The table has the
// median and the quartiles. Servers have one CPU and clients another. What is not installed is left
// out, and the table says so.
//
// # Setup
//
// All serve the same file, of 64 MiB in memory, with AUTH_SYS. READ and WRITE ask for a whole
// transfer at once. WRITEs are unstable where the client can choose. Our client uses one
// connection. The others are set up as suits them best:
//
//   - go-nfs serves helpers/memfs with the caching handler of its examples. It executes the calls
//     of a connection one after the other. For listings its cache of handles holds the whole
//     directory.
//   - vmware/go-nfs-client makes one call at a time, so it gets a connection for each call in
//     flight. Its package nfs needs a port mapper at port 111. So the calls are made with its
//     packages rpc and xdr, in the way its package nfs makes them.
//   - willscott/go-nfs-client makes many calls over one connection, from as many goroutines. It
//     asks for 4 KiB of a directory at a time.
//   - NFS-Ganesha serves a tmpfs by its FSAL VFS with its default caches, because its FSAL MEM does
//     not keep what is written. libnfs/client.c calls libnfs through the asynchronous interface,
//     over one connection, with the directory cache off. It does not copy what it has read to a
//     caller's buffer. The command compiles it.
//
// # Environment
//
// As root on Linux, all of this runs in its own namespaces, with a loopback interface, an rpcbind
// and a file system for Ganesha. They do not touch the host's. All sockets have the same congestion
// control. Elsewhere Ganesha is left out, and the other clients' sockets keep the system's
// congestion control, while ours use reno if it can be set.
package main
