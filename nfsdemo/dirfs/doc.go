// Package dirfs serves a directory of the host: a file system for nfsserver. It runs on Linux 5.8
// or later with /proc.
//
//	fs, err := dirfs.New(dirfs.Config{Path: "/srv/data", State: "/var/lib/nfs-data"})
//	...
//	defer fs.Close()
//	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{
//		{Path: "/data", FS: fs},
//	}})
//
// Run it as root to serve several users. Use a state directory, so that handles survive a restart.
//
// # Confinement
//
// Nothing leads out of the directory. Names are resolved one at a time, relative to a descriptor of
// their directory. The host does not follow links (openat2 with RESOLVE_BENEATH and others), and
// "." and ".." never reach it. File systems mounted below the directory are not entered: they are
// nfs3.ErrAcces, and READDIRPLUS lists them without attributes and handles. The same goes for
// subvolumes with their own device number. Devices, FIFOs and sockets are never opened.
//
// If the host itself moves a file out of the directory, clients that have its handle can still use
// it, as with Linux's own server (no_subtree_check). They cannot reach anything above it. If
// handles have keys (see below), it is gone when its descriptor is closed to make room.
//
// # Handles
//
// A handle has a MAC, so nobody can make one up. There are two kinds.
//
// Kernel handles contain the handle that the kernel gives to the file (name_to_handle_at), and
// open_by_handle_at opens the file again. Nothing is remembered of files that are not in use. This
// needs CAP_DAC_READ_SEARCH, and a file system whose handles have up to 36 bytes. [New] tries
// whether it works.
//
// Otherwise, or with [Config.ByName], handles contain a key: the inode number and the birth time.
// The birth time tells a file from a later one with the same inode number. If the host's file
// system does not keep it, nothing does. On an overlay, a file that is copied up becomes another
// file. A log keeps the names under which each file was seen, with about 30 bytes of memory for
// each file. A file is opened by one of its names, and used if it has the right key. If the host
// has renamed it, dirfs searches first the directory and then the whole tree. Such scans take at
// most a quarter of the time and serve all waiting calls. A call that would wait for more than a
// second gets nfs3.ErrJukebox. A file that was not found is stale until it is seen again. The log
// has the latest 16 million files. It is rewritten in the background when most of it is obsolete.
//
// With a state directory handles of both kinds survive a restart of the server and of the host. The
// state directory has the key of the MACs, which [NewKey] and [RevokeKeys] change, and the log of
// names. Handles with keys stay valid when the process can use kernel handles later, but not the
// reverse. If others can write the state directory or read the files in it, New refuses it.
//
// # Permissions
//
// dirfs itself decides what a caller may do: by owner, group, mode bits and the POSIX access
// control list. Rights of several groups of a caller add up. The host only sees the process.
//
// A process that runs as root can do everything. New files get the caller as owner. Quotas and
// reserved space do not limit it. Any other process can do no more than its user: new files belong
// to that user, and giving files away is nfs3.ErrPerm. In a container that does not map a user,
// calls of that user get nfs3.ErrPerm too; squash such users.
//
// # Durability
//
// Changes other than unstable WRITEs are on stable storage before the reply. If the host fails to
// write data back, one call gets the error, and the epoch of the file system changes (vfs.FSInfo),
// so clients write uncommitted data again. On a host file system without a journal, a crash of the
// host may lose a new symbolic link, FIFO, socket or device, because the host has no call to sync
// one. Where O_TMPFILE works, a regular file gets its name after its owner, mode and verifier. So a
// server that is killed leaves nothing that a repeated call would stumble over.
//
// # Changes on the host
//
// The host, or another server, may change the directory at the same time. The attributes before and
// after an operation only match with respect to operations of this FS. Before Linux 6.13, times
// advance in steps of some milliseconds, so clients may miss quick changes. A file that the host
// removes may occupy space for another half minute, because it is open. A file is open for writing
// for up to four seconds after the last write. A program is closed when it is on stable storage or
// becomes executable, so that the host can run it. A time of the host before 1970 or after February
// 2106 shows as the nearest time that NFS version 3 has.
//
// # Limits
//
// At most 4096 descriptors of paths and 1024 of data are open, and at most an eighth each of what
// the process may have. If there are more than two file systems, together they have twice that.
//
// # Inside
//
// The methods of [FS] implement [vfs.FS]. They get files by tree.hold and tree.holdDir, which
// return a file or a dir: a node with a descriptor. An operation with a state of its own is a type:
// making, removal, renaming. The parts of the tree are:
//
//   - host: the directory and its file system
//   - nodes: files in use
//   - descs: open descriptors
//   - a locator, which finds files that are not open: byKernel; or byName, with names, a scanner
//     and the absent files
//
// Lock order: node.mu of a directory, node.mu of a file, tree.renames, names.mu. Two directories
// are locked in the order of their IDs. node.mu makes an operation a single step; it is not held
// while data is fetched or synced. nodes.mu, absent.mu, scanner.mu and descCache.mu are taken last,
// and no other lock after them.
package dirfs
