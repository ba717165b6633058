// Package nfs3 is NFS version 3 on the wire (RFC 1813): its constants, and the
// arguments and results of its procedures, which encode and decode themselves for
// both client and server.
//
// READ and WRITE data is encoded and decoded by reference (xdr Bulk), so that a
// transport may move it on its own. Those two, and the path names of READLINK and
// SYMLINK, are all that the upper-layer binding allows to be moved so (RFC 8267).
//
// Names are those of the RFC without the suffix 3. Times are in seconds and
// nanoseconds since 1970 UTC, lengths and offsets in bytes.
package nfs3
