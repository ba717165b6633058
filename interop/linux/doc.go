// Package linux tests our programs against the Linux kernel in a virtual machine: the command
// rpcrdma serve with the kernel's NFS/RDMA client, our client with its NFS server, and the
// providers with its Soft-iWARP (siw) and Soft-RoCE (rdma_rxe).
//
//	go test -tags interop -run TestVariants ./interop/linux
//
// The scripts build and run make and start the machine. The scripts in steps run inside it. In
// TestKerberos, the KDC runs on this machine. The guest has rpc.gssd and rpc.svcgssd, which make
// the kernel's RPCSEC_GSS contexts. interop/README.md lists the tests and what they need.
package linux
