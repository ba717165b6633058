// Package nfsclient is a client of NFS version 3 (RFC 1813) over whatever transport
// package oncrpc runs on.
//
// A [Client] has a method for each procedure, and [Client.ReadDir], which lists a whole directory;
// package nfsfs has files on top of it. [Mount], [Exports] and the like call the MOUNT program,
// which may be at the other end of another connection. Data is not copied: READ asks the transport
// to leave it in the caller's buffer, WRITE sends it from there.
package nfsclient
