// Package nfsclients has NFS clients that others have written, unmodified, and what is checked with
// them: that files come back as they were written, and are listed. It has the build tag interop.
// The clients are github.com/vmware/go-nfs-client, github.com/willscott/go-nfs-client, and the
// commands of libnfs (Debian's libnfs-utils).
package nfsclients
