// Package gateway tests clients that others have written, and that know nothing of RDMA, against
// rpcrdma serve over RDMA, by rpcrdma gateway. The tests have the build tag interop. They need
// root, and Debian's packages rpcbind and libnfs-utils: two of the clients ask the port mapper of
// the host for ports. They use the rpcbind that is running, which must not have NFS registered;
// without one they start their own.
package gateway
