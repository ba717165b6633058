// Package ganesha compares the NFS server with NFS-Ganesha, the server in user space that most
// people know, in the same run and with the same client. The benchmark has the build tag interop
// and needs Debian's nfs-ganesha-vfs and rpcbind, and root.
package ganesha
