// Package ganesha compares our NFS server with NFS-Ganesha, a widely used server in user space, in
// the same run and with the same client.
//
//	go test -tags interop -run '^$' -bench . ./interop/ganesha
//
// The benchmark needs root and Debian's nfs-ganesha-vfs and rpcbind. Results are in
// docs/performance.md.
package ganesha
