// Package memfs is a file system in memory.
//
// File data lies in blocks of 64 KiB, each in a page of its own; a page is as large as its data,
// rounded up to a power of two. Pages are counted by reference and copied on write: READ hands out
// references that stay what they are however long a transport keeps them, and WRITE fetches its
// data into new pages, which then take the place of the old. Pages that nobody refers to are used
// again, so that neither reading nor rewriting allocates. There are never many more of them than
// the capacity has room for, and readers hold: what a READ has handed out and is written over
// meanwhile takes memory beyond the capacity until it is released. The servers of this project
// bound the replies that wait, for all peers and for each (rpcrdma.Config.ServerMemory,
// recordmark.Config.Memory), and these bytes with them.
//
// # Limits
//
// A name has up to 255 bytes, any but '/' and NUL. A symbolic link leads to a path of up to 4095
// bytes. A file has up to 65000 names; directories may have more directories in them. How deep
// directories lie in one another is not limited: nobody gives this file system a path.
//
// # Locks
//
// FS.tree guards which nodes there are and the contents of directories. node.mu guards
// the attributes and the data of one node. Who takes both takes the tree's first, and
// who takes several nodes' has the tree's for writing. None is held while data is fetched.
//
// A node that has lost its last name has no links, and its data is no longer touched: who found
// it before that, and then waited for node.mu, finds it stale.
package memfs
