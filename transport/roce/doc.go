// Package roce is an RDMA provider for RoCE version 2, in user space and without privileges:
// reliable connections of InfiniBand (IBTA volume 1) in UDP datagrams (annex A17), as Linux's
// rdma_rxe and adapters speak them.
//
// A server listens, and a client dials, at the IP address of a network interface and the port of a
// service, such as 20049 for NFS:
//
//	l, err := roce.Listen(ctx, "192.0.2.1:20049", roce.Config{})
//	...
//	ep, err := roce.Dialer{}.Dial(ctx, "192.0.2.1:20049", private)
//
// That port is no UDP port. It is part of a service id of the connection manager (annex A11). All
// datagrams have UDP port 4791. The first Listen or Dial at a local address binds that port there,
// all connections of the process at this address share it, and the last to end gives it back. A
// process that finds the port taken fails with ErrPortTaken: another one has it, or the kernel's
// rdma_rxe. On one host, two processes use two addresses, such as 127.0.0.1 and 127.0.0.2.
//
// # Limits
//
// Addresses and ports are covered by the check of each packet (ICRC), so there can be no NAT on the
// way. With IPv4 it covers the identification of the IP header, too, which a UDP socket does not
// show. The provider computes it from the check itself, which leaves 16 of its 32 bits, and expects
// identifications of one host to count up, which wins most of the rest back. With IPv6 all 32
// remain.
//
// A packet carries 256 to 4096 bytes: the largest power of two that the interface has room for
// beside its headers, 1024 with an MTU of 1500.
//
// All packets are of the default partition. Others are dropped, and counted as bad; so are opcodes
// that the provider does not know, those of atomic operations among them. An RDMA Write with
// immediate data is refused, and the immediate data of a Send is left out.
//
// R_Keys, queue pair numbers and packet sequence numbers are the only secrets, and not encrypted:
// docs/security.md says what that means.
//
// It needs Linux.
package roce
