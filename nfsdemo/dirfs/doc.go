// Package dirfs is a file system that is a directory of the host. It runs on Linux, 5.8 or later,
// with /proc.
//
// # Confinement
//
// Nothing leads out of the directory. Names are resolved one at a time, relative to a descriptor of
// the directory that they are in, and the host is told not to follow links (openat2 with
// RESOLVE_BENEATH and others); "." and ".." never reach it. What is mounted below the directory is
// not entered: nfs3.ErrAcces, and READDIRPLUS lists it without attributes and handle. The same goes
// for subvolumes that have a device number of their own. Devices, FIFOs and sockets are never
// opened.
//
// What the host itself moves out of the directory stays reachable by the handles that clients have,
// as it does with Linux's own server (no_subtree_check); nothing above it is. With handles of keys
// it is gone when its descriptor is closed, to make room for others.
//
// # Handles
//
// A handle has a MAC, so that nobody can make one who did not get it from the server. Beside that
// it has the handle that the kernel gives of the file (name_to_handle_at), by which the file is
// opened again (open_by_handle_at): nothing is remembered of files that are not in use. That takes
// CAP_DAC_READ_SEARCH, and a file system whose handles are not longer than 36 bytes; [New] finds
// out by trying.
//
// Elsewhere, and with [Config.ByName], a handle has a key: the number of the inode and the time of
// its birth, which tells it from a later one of the same number. On file systems that do not keep
// that time, nothing does; on an overlay, a file that is copied up becomes another. The names under
// which each file was seen are in a log, of which memory has some 30 bytes for each file. A
// descriptor that was opened by one of the names is used when it is found to be that file. Where
// the host has renamed it, first the directory is searched and then the whole tree. Such scans take
// a quarter of the time at most, and are made for all calls together; a call that would wait for
// longer than a second is nfs3.ErrJukebox. A file that was not found is stale, until it is seen
// again. The log has the latest 16 million files; it is written anew, beside the work, when most of
// it is of the past.
//
// With a state directory, handles survive a restart: of the server with either kind, of the host
// too. It has the key of the MACs, which can be changed ([Config.NewKey]), and the log of names.
// Handles with keys stay good when the process may use those of the kernel later, but not the other
// way round. Nobody else may be able to write the state directory or read the files in it; it is
// refused otherwise.
//
// Descriptors are kept open: at most 4096 of paths and 1024 for data, and an eighth each of those
// that the process may have. More than two file systems share twice that.
//
// # Rights
//
// What a caller may do is decided here, by owner, group and mode bits, and the POSIX access control
// list of a file that has one. Of the entries for several groups of a caller the rights add up. The
// host sees the process alone. Run by root, that can do everything, and gives new files to the
// caller; quotas and reserved space do not stop it. Run by another user it can do no more than he
// can: new files belong to him, and giving files away is nfs3.ErrPerm. That is also the answer to
// root in a container which has no number for the user; such users have to be squashed.
//
// # Durability
//
// Changes other than unstable WRITEs are on stable storage before the reply. If the host fails to
// write data back, that is said once; then the epoch of the file system is another (vfs.FSInfo), so
// that all clients write again what they have not committed. On a host's file system without a
// journal, a new symbolic link, FIFO, socket or device may be lost in a crash of the host, which
// has no call to sync one. A regular file gets its name when it has its owner, mode and verifier,
// on file systems that can (O_TMPFILE): a server that is killed leaves nothing that the call, when
// it is repeated, would trip over.
//
// # Changes on the host
//
// The directory may be changed on the host, or by another server, at the same time. The attributes
// before and after an operation belong together only with respect to operations of this FS. Linux
// before 6.13 moves times in steps of some milliseconds, so that clients may miss changes that
// follow one another more quickly. A file that the host removes may take up its space for another
// half a minute, since it is open. A file that nobody has written for four seconds is not open for
// writing any more, and a program is not once it is on stable storage or becomes one, so that the
// host can execute it.
//
// # Inside
//
// The methods of [FS] are those of [vfs.FS]. Each finds its files by tree.hold and tree.holdDir,
// which return a file or a dir: a node and a descriptor. What is done with these are their methods;
// an operation that has a state of its own is a type (making, removal, renaming). The tree has
// host, what is known of the directory and its file system; nodes, the files that are in use;
// descs, the descriptors; and a locator, which finds files that are not open: byKernel, or byName,
// with names, a scanner, and the files that are absent.
//
// # Locks
//
// node.mu makes an operation one step; that of a directory is taken before that of a file, and two
// directories are locked in the order of their IDs. It is not held while data is fetched or
// synced. Then come tree.renames and names.mu. nodes.mu, absent.mu, scanner.mu and descCache.mu are
// taken last, with nothing behind them.
package dirfs
