// Package memfs is a file system in memory, for nfsserver:
//
//	fs, err := memfs.New(memfs.Config{Capacity: 1 << 30})
//	...
//	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
//		{Path: "/scratch", FS: fs},
//	}})
//
// READ and WRITE copy no data: READ returns references to pages, and WRITE fetches its data into
// pages that become the file's. Everything is lost with the process. When the capacity is used up,
// calls fail with nfs3.ErrNoSpc.
//
// # Limits
//
// A name has up to 255 bytes, without '/' and NUL. The path of a symbolic link has up to 4095
// bytes. A file has up to 65000 names; a directory may have more subdirectories than that. The
// depth of directories has no limit.
//
// # Memory
//
// File data is in blocks of 64 KiB. Each has a page, as large as its data, rounded up to a power of
// two. Pages are counted by reference and copied on write, so a READ's data does not change,
// however long the transport keeps it. Pages are reused, so neither reading nor overwriting
// allocates. Pages that a READ has returned, and that were overwritten since, take memory beyond
// the capacity until they are released. The servers of this module bound replies that wait, and so
// these pages (rpcrdma.Config.ServerMemory, recordmark.Config.Memory).
//
// # Locks
//
// FS.tree guards the set of nodes and the contents of directories. node.mu guards the attributes
// and data of a node. Take FS.tree first; to take several node.mu, hold it for writing. No lock is
// held while data is fetched.
//
// A node without links is gone, and its data is no longer touched. An operation that has found it
// before, and then waited for node.mu, returns nfs3.ErrStale.
package memfs
