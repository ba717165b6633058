// Package memfs is a file system in memory.
//
// File data lies in blocks of 64 KiB, each in a page of its own; a page is as large as
// its data, rounded up to a power of two. Pages are counted by reference and
// copied on write: READ hands out references that stay what they are however long a
// transport keeps them, and WRITE fetches its data into new pages, which then take
// the place of the old. Pages that nobody refers to are used again, so that neither reading nor
// rewriting allocates. There are never many more of them than the capacity has room for.
//
// # Locks
//
// FS.tree guards which nodes there are and the contents of directories. node.mu guards
// the attributes and the data of one node. Who takes both takes the tree's first.
// Neither is held while data is fetched.
package memfs
