// Package nfsserver serves file systems (package vfs) as NFS version 3 and MOUNT version 3 (RFC
// 1813), all procedures of both. It makes the two RPC programs; package oncrpc runs them, over
// whatever transport.
//
// An [Export] says under which path a file system is mounted and by what rules: from which
// addresses, as whom, and whether anything may be changed. MNT applies them to the path, and every
// procedure of NFS to the file system that its handle is of, since a client may come with a handle
// that it has from elsewhere.
package nfsserver
