// Package capture reads captured TCP streams of Linux's NFS/RDMA as test data. The client and
// server of Linux 6.1 talk over siw, its software iWARP. The package reads packet captures and
// splits the streams into FPDUs. It shares no code with the packages that it tests.
//
// Each capture shows the same work: mount, write and read files of small sizes and of some 100,000
// bytes, list a directory, unmount. None has markers. The MTU was 1500.
package capture
