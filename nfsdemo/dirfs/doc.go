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
// opened. What the host itself moves out of the directory while it is in use stays reachable by the
// handles that clients have, until its descriptor is closed to make room for others, or the server
// ends.
//
// # Handles
//
// A handle has the number of an inode and the time of its birth, which tells it from a later one of
// the same number (on file systems that do not keep it, nothing does; on an overlay, a file that is
// copied up becomes another). A table has the names under which each file was seen; a descriptor
// that was opened by one of them is used when it is found to be that file. Where the host has
// renamed it, first the directory and then the whole tree is searched, and the handle is stale if
// it is not there. With a state directory the table is kept, as a log, so that handles survive a
// restart. It grows with the number of files that were seen. Descriptors are kept open: at most
// 4096 of paths and 1024 for data, and an eighth each of those that the process may have.
//
// # Rights
//
// What a caller may do is decided here, by owner, group and mode bits, and the POSIX access control
// list of a file that has one. Of the entries for several groups of a caller the rights add up. The
// host sees the process alone. Run by root, that can do everything, and gives new files to the
// caller; quotas and reserved space do not stop it. Run by another user it can do no more than he
// can: new files belong to him, and giving files away is nfs3.ErrPerm.
//
// # Durability
//
// Changes other than unstable WRITEs are on stable storage before the reply. If the host fails to
// write data back, the next COMMIT of the file fails, also when it was closed to make room before.
// A regular file gets its name when it has its owner, mode and verifier, on file systems that can
// (O_TMPFILE): a server that is killed leaves nothing that the call, when it is repeated, would
// trip over.
//
// # Changes on the host
//
// The directory may be changed on the host, or by another server, at the same time. The attributes
// before and after an operation belong together only with respect to operations of this FS. Linux
// before 6.13 moves times in steps of some milliseconds, so that clients may miss changes that
// follow one another more quickly. A file that the host removes may take up its space for another
// half a minute, since it is open. A program that clients have written is not open for writing any
// more once it is on stable storage, so that the host can execute it.
//
// # Inside
//
// The methods of [FS] are those of [vfs.FS]. Each finds its files by tree.hold and tree.holdDir,
// which return a file or a dir: a node and a descriptor. What is done with these are their methods;
// an operation that has a state of its own is a type (making, removal, renaming). The tree has host,
// what is known of the directory and its file system; table, the nodes and their names; and descs,
// the descriptors. A walk opens a node by its names, and the scanner looks for those that have none.
//
// # Locks
//
// node.mu makes an operation one step; that of a directory is taken before that of a file, and two
// directories are locked in the order of their keys. It is not held while data is fetched or
// synced. Then come tree.renames, table.mu and hintLog.mu. descCache.mu is taken last, with nothing
// behind it.
package dirfs
