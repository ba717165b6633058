// Package libnfs tests the NFS server, over TCP, against libnfs, an NFS client in user space.
//
//	go test -tags interop ./interop/libnfs
//
// The tests need Debian's libnfs-utils.
package libnfs
