// Package libnfs tests the NFS server, over TCP, against libnfs, an NFS client in user space. The
// tests have the build tag interop, and need Debian's libnfs-utils.
package libnfs
