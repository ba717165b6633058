// Package gateway tests other NFS clients, which know nothing of RDMA, through rpcrdma gateway
// against rpcrdma serve over RDMA.
//
//	go test -tags interop ./interop/gateway
//
// The tests need root and Debian's rpcbind and libnfs-utils, because two of the clients ask the
// host's port mapper for ports. They use a running rpcbind, in which NFS must not be registered, or
// start their own.
package gateway
