// Package nfsserver serves file systems (package vfs) as NFS version 3 and MOUNT
// version 3 (RFC 1813). It makes the two RPC programs; package oncrpc runs them, over
// whatever transport.
package nfsserver
