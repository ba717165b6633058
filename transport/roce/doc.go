// Package roce provides RDMA over RoCE version 2, in user space and without privileges: reliable
// connections of InfiniBand (IBTA volume 1) in UDP datagrams (annex A17). It is a provider of
// package transport, and needs Linux. The peer may be this package, Linux's rdma_rxe, or an
// adapter.
//
// One side listens, the other dials:
//
//	l, err := roce.Listen(ctx, "192.0.2.1:20049", roce.Config{})
//	req, err := l.Accept(ctx)
//	ep, err := req.Accept(ctx, prepare) // or req.Reject
//
//	ep, err := roce.Dialer{}.Dial(ctx, "192.0.2.1:20049", prepare)
//
// The Preparation prepare (package transport) posts the first receives. It may be nil.
//
// # Ports
//
// The IP address is that of a network interface. The port is that of a service, such as 20049 for
// NFS. It is not a UDP port but a part of a service id of the connection manager (annex A11).
//
// All datagrams have UDP port 4791. The first Listen or Dial at a local address binds it there. All
// connections of the process at that address share it, and the last one to end frees it. If another
// process or the kernel's rdma_rxe has the port, Listen and Dial fail with [ErrPortTaken]. Two
// processes on one host must use two addresses, such as 127.0.0.1 and 127.0.0.2.
//
// # Limits
//
//   - There can be no NAT on the way: the check of each packet (ICRC) covers addresses and ports.
//   - With IPv4, the ICRC is weaker. It also covers the identification of the IP header, which a
//     UDP socket does not show, so the provider computes the identification from the ICRC. That
//     leaves 16 of its 32 bits. Most of the rest is won back by expecting the identifications of
//     one host to count up. With IPv6, all 32 bits count.
//   - A packet carries 256 to 4096 bytes: the largest power of two that fits the interface's MTU
//     beside the headers, for example 1024 with an MTU of 1500.
//   - All packets must belong to the default partition. Others are dropped and counted as bad, like
//     packets with unknown opcodes.
//   - Atomic operations and RDMA Writes with immediate data are refused. The immediate data of a
//     Send is dropped.
//   - R_Keys, queue pair numbers and packet sequence numbers are the only secrets, and travel in
//     clear: docs/security-bounds.md has the odds of guessing them.
package roce
