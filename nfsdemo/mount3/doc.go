// Package mount3 is version 3 of the MOUNT protocol on the wire (RFC 1813
// appendix I), by which an NFS client turns the path of an export into a file handle.
package mount3
