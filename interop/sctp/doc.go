// Package sctp tests iWARP over SCTP (RFC 5043 and draft-stewart-rddp-sctp-01) against another SCTP
// implementation, libusrsctp. The peer (peer/peer.c) sends the bytes that a test writes by hand.
//
//	go test -tags interop ./interop/sctp
//
// In the tests named TestOur... our provider is at the other end: package iwarp over package
// transport/iwarp/sctp. In the others it is a second libusrsctp peer. ddp.lua teaches tshark DDP
// over SCTP. The tests need gcc, tshark and Debian's libusrsctp-dev.
package sctp
