// Package exportfs tests package exports with Debian's exportfs: its answers to files that are hard
// to read are the testdata of nfsdemo/exports.
//
//	go test -tags interop ./interop/exportfs
//
// The tests need root, nfs-kernel-server and unshare. They see a private /etc/exports and
// /var/lib/nfs, and a network without an NFS server: on the host nothing changes.
package exportfs
