// Package nfsfs shows the files of an NFS server as Go programs know files.
//
// An [FS] is the tree below a handle, such as the root of an export: it has the functions of
// package os, with a context, and [FS.IOFS] is the same as an fs.FS. A [File] reads and writes with
// several READs and WRITEs under way, and keeps what it has written in memory until the server has
// committed it, so that a server that restarts in between loses nothing.
//
// # Names
//
// Names are slash-separated and relative to the root; "", "." and "/" are the root itself. They are
// of any bytes but NUL: what a server calls UTF-8 need not be. ".." leads to the directory that the
// name came through, and at the root stays there. A slash at the end, or "/.", says that the name
// is of a directory.
//
// Symbolic links are followed here and not by the server, which only tells what is in them. A link
// to an absolute path is followed where that is below [Config.Export]. Other links that lead out
// are [ErrEscape], also those that climb out by "..": where they lead, there are files that this
// package cannot see.
//
// # Caches
//
// Where the name of a directory leads is remembered for a second, or until it is released that was
// held ([FS.Hold]), unless this FS itself changes it.
// Nothing else is: each method asks the server. A READ gives what the server has, which is all that
// was written through it, committed or not.
package nfsfs
