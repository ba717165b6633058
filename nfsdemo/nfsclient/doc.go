// Package nfsclient is a typed client of NFS version 3 and MOUNT (RFC 1813), over any transport of
// package oncrpc. A [Client] has a method for each procedure:
//
//	cred, err := oncrpc.AuthSys(oncrpc.SysCred{UID: 1000, GID: 1000})
//	...
//	c := nfsclient.New(conn, cred) // such as from rpcrdma.Dial
//	root, err := c.Mount(ctx, "/export")
//	...
//	file, err := c.Lookup(ctx, root, "readme")
//	...
//	r, err := c.Read(ctx, file.File, 0, make([]byte, 1<<20))
//
// It does not copy data: READ asks the transport to put it into the caller's buffer, and WRITE
// sends it from there. Errors are of type *[Error]. Package nfsfs has files with the functions of
// package os on top of it, and package nfsmount finds a MOUNT program at another port.
package nfsclient
