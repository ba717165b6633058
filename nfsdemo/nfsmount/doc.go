// Package nfsmount mounts an export: it finds the MOUNT program of a server, and the handle of the
// export that contains a path (RFC 1813 section 5).
//
//	root, err := nfsmount.Mount(ctx, conn, "/export/dir/file",
//		nfsmount.Config{Host: "server", Flavor: cred})
//	...
//	defer root.Unmount(ctx)
//	// root.Handle is the handle of /export, and root.Rest is "dir/file".
//
// If it finds no MOUNT program, the error is a *[SearchError], which lists the places that it
// tried. If the server refuses, it is an *[Error], which lists the exports. Example_client of
// package nfsdemo is a complete client.
//
// # Where it looks for MOUNT
//
// With Config.Port, only at that TCP port of the host. Otherwise, in this order:
//
//   - On the connection to the NFS server. Linux's server does not have MOUNT there.
//   - At the TCP port that rpcbind on the host returns. It asks rpcbind at TCP port 111 by GETADDR,
//     then DUMP, or by GETPORT if rpcbind is only a port mapper. It uses only the port of the
//     returned address, because the address may not be reachable from here.
//   - At TCP port 20048, which IANA has assigned to MOUNT and many servers use.
//
// It connects from a port below 1024 if the process may use one. Linux's server demands that unless
// the export has the option "insecure".
//
// # What it mounts
//
// The export with the longest path that contains the wanted path, from the list that EXPORT
// returns. Servers need not list all exports. If none contains the path, it tries the path itself
// and then the directories above.
package nfsmount
