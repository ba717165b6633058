// Package capture is test data: the TCP streams of Linux 6.1's NFS/RDMA client and
// server talking over its own software iWARP driver, siw. It reads them from
// packet captures and splits them into FPDUs, with code of its own that shares
// nothing with what it is used to test.
//
// The same work was done in each: mount, read and write files both small and
// of some 100,000 bytes, list a directory, and so on, unmount. None has markers; the MTU was
// 1500.
package capture
