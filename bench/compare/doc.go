// Command compare measures NFS as others do it beside ours, in the same run: our server and client
// over iWARP, those of willscott/go-nfs, vmware/go-nfs-client and willscott/go-nfs-client, and
// NFS-Ganesha with libnfs, all on 127.0.0.1.
//
//	cd bench/compare && go run .
//
// It is a module of its own, so that what the others need is not needed by who uses ours.
//
// # Method
//
// A comparison is one workload, done by ours and by one other in turns: theirs, ours, theirs, ours
// (package paired). The ratio of each two rounds says how many times as fast ours is; the table has
// the median and the quartiles. Servers have a CPU of their own, and so have clients. What is not
// installed is left out, and the table says so.
//
// # What each does
//
// All have the same file, of 64 MiB in memory, and use AUTH_SYS; READ and WRITE ask for the whole
// of a transfer at once, and WRITEs are unstable where the client lets us choose. Our client makes
// its calls over one connection. The others get what is best for them:
//
//   - go-nfs serves helpers/memfs with the caching handler of its examples. It executes the calls
//     of a connection one after the other. For listings its cache of handles has room for the whole
//     directory.
//   - vmware/go-nfs-client takes one call at a time, so that it gets a connection for each in
//     flight. Its package nfs finds servers by a port mapper at port 111 only; the calls are
//     therefore made with its packages rpc and xdr, as its package nfs makes them.
//   - willscott/go-nfs-client takes many calls over one connection, from as many goroutines. It
//     asks for 4 KiB of a directory at a time.
//   - NFS-Ganesha serves a tmpfs by its FSAL VFS, with the attributes and the directories cached,
//     as it comes. Its FSAL MEM does not keep what is written. libnfs is called through its
//     asynchronous interface by libnfs/client.c, compiled when the command runs, over one
//     connection, with its cache of directories off. It does not copy what it has read to a buffer
//     of the caller's.
//
// # Environment
//
// As root on Linux, all of this runs in namespaces of its own, with a loopback interface whose
// congestion control is the same for all, with an rpcbind, and with a file system for ganesha, none
// of which touch those of the host. Elsewhere ganesha is left out, and the sockets of the other
// clients keep the system's congestion control, while ours have reno where it can be set.
package main
