// Package kernelsctp has DDP's sessions on the SCTP of the Linux kernel, by one-to-one sockets (RFC
// 6458 section 4), so that tests have an SCTP at one end that is not ours. It speaks UDP where
// net.sctp.udp_port and net.sctp.encap_port say so (RFC 6951). There is no draft mode: the kernel
// does not tell the peer's first TSN.
package kernelsctp
