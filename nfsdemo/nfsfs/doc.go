// Package nfsfs gives Go programs the files of an NFS server, with the functions of package os:
//
//	client := nfsclient.New(conn, cred)
//	root, err := client.Mount(ctx, "/export")
//	...
//	files := nfsfs.New(client, root, nfsfs.Config{Export: "/export"})
//	err = files.MkdirAll(ctx, "photos/2026", 0o755)
//	...
//	f, err := files.Create(ctx, "photos/2026/notes")
//	...
//	_, err = f.ReadFrom(r)
//	...
//	err = f.Close() // nil: all data is on stable storage
//
// An [FS] is the tree below a handle. [FS.IOFS] makes it an fs.FS. A [File] has several READs and
// WRITEs under way at a time. It keeps written data in memory until the server has committed it, so
// a server may restart without losing any. The examples of this package are complete programs.
//
// # Names
//
// Names are separated by slashes and relative to the root. The root itself is "", "." or "/". A
// name may contain any bytes but NUL; it need not be UTF-8. ".." leads back to the directory that
// the name came through, and stays at the root there. A name that ends in "/" or "/." is the name
// of a directory.
//
// This package follows symbolic links itself; the server only returns their contents. A link to an
// absolute path is followed if the path is below [Config.Export]. Other links that lead out of the
// tree fail with [ErrEscape], also those that climb out by "..".
//
// # Caches
//
// An FS remembers for a second where the name of a directory leads, or until [FS.Hold] is released.
// Changes that the FS makes itself are seen at once. Nothing else is cached: each method asks the
// server. A READ returns what the server has. That is all data that was written through it,
// committed or not.
package nfsfs
