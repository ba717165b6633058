// Package sctp has tests in which an SCTP peer that is not ours, libusrsctp, carries DDP as RFC
// 5043 and draft-stewart-rddp-sctp-01 have it, with bytes written by hand. They have the build tag
// interop, and need gcc, Debian's libusrsctp-dev, and tshark.
//
// The tests whose names begin with TestOur have our provider on the other side, package iwarp over
// package transport/iwarp/sctp; in the others it is another such peer.
//
// The peer is the program in the folder peer. ddp.lua teaches tshark DDP over SCTP.
package sctp
