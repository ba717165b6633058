// Package linux tests the command rpcrdma serve against the Linux kernel's NFS/RDMA client, and
// transport/iwarp against its Soft-iWARP (siw), in a virtual machine. The tests have the build tag
// interop; the scripts build and run are the machine, and those in steps what is done in it.
//
// TestKerberos adds a realm: the KDC runs on this machine, and the guest has rpc.gssd and
// rpc.svcgssd, Debian's programs that make the kernel's contexts of RPCSEC_GSS.
package linux
