// Package kernelsctp runs DDP sessions on the SCTP of the Linux kernel, so that tests have an
// independent SCTP at one end. Use [Listen] and [Dialer] as those of package sctp:
//
//	l, err := kernelsctp.Listen(netip.MustParseAddrPort("127.0.0.1:20049"), sctp.Config{})
//	listener, err := iwarp.NewListener(l, iwarp.Config{})
//
// It uses one-to-one sockets (RFC 6458 section 4). It speaks UDP as net.sctp.udp_port and
// net.sctp.encap_port say (RFC 6951). There is no draft mode: the kernel does not tell the peer's
// first TSN.
package kernelsctp
