// Package nfsmount finds the root handle of an export: which program answers MOUNT, where, and for
// what (RFC 1813 section 5).
//
//	root, err := nfsmount.Mount(ctx, conn, "/export/dir/file",
//		nfsmount.Config{Host: "server", Flavor: flavor})
//	...
//	defer root.Unmount(ctx)
//	// root.Handle is that of /export, and root.Rest is "dir/file".
//
// # Where MOUNT is
//
// With Config.Port, over TCP at that port of the host, and nowhere else. Otherwise it is asked for
//   - on the connection to the NFS server itself, of whatever kind; Linux's server does not have it
//     there;
//   - at the port that rpcbind knows, which is asked over TCP at port 111: by GETADDR, by DUMP
//     where that finds nothing, and by GETPORT where there is but the port mapper. Of the address
//     that it names only the port counts: the address may be one that cannot be reached from here;
//   - over TCP at port 20048, its own by IANA's list, where many servers have it.
//
// Connections are made from a port below 1024 if the process may have one: Linux's server asks for
// that, unless the export has the option "insecure".
//
// # What is mounted
//
// Of the exports that EXPORT lists, the longest that holds the path. If none does, as servers need
// not list all, the path itself is tried, and then what is above it.
package nfsmount
