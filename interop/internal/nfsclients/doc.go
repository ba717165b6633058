// Package nfsclients runs unmodified NFS clients of other projects, and checks that files come back
// as they were written, and are listed. The clients are github.com/vmware/go-nfs-client,
// github.com/willscott/go-nfs-client, and the commands of libnfs (Debian's libnfs-utils).
//
// It has the build tag interop, so that nobody else needs these modules.
package nfsclients
