// Package rpcbind has tests in which servers of ours register with Debian's rpcbind, and its
// rpcinfo finds them. They have the build tag interop, and need the package rpcbind. They use the
// rpcbind that is running, which must not have NFS registered; without one they start their own, as
// root. One test is in a network namespace of its own, without rpcbind, which takes root too.
package rpcbind
