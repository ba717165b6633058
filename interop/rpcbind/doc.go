// Package rpcbind tests our servers with Debian's rpcbind: they register, and rpcinfo finds them.
//
//	go test -tags interop ./interop/rpcbind
//
// The tests use a running rpcbind, in which NFS must not be registered, or start their own as root.
// One test runs in a network namespace without rpcbind, which also needs root.
package rpcbind
