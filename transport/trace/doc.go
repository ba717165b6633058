// Package trace writes what connections send and receive to a pcap file, for Wireshark and tshark.
//
// A [Writer] has the bytes of
//
//   - each net.Conn that it wraps ([Writer.Listener], [Writer.DialContext], [Writer.Dialed]), as
//     TCP segments: RPC over TCP, and iWARP by iwarp.NewListener and iwarp.Dialer.DialContext;
//   - iWARP over SCTP, as the UDP datagrams that there are: [Writer.Datagram] is what sctp.Config
//     has as Trace;
//   - package loopback, as iWARP over TCP: [Writer.Loopback].
//
// # What is made up
//
// The packets are not those of the network: they show what this end has sent and received, and
// when. Each begins with an IP header (LINKTYPE_RAW), with its checksums right. Of a connection,
// the addresses and ports are its own if it has such. Its handshake, sequence numbers,
// acknowledgements and the lengths of segments are made up. Nothing is lost or comes twice. FIN is
// where this end has closed, or has learned that the peer has. An address that is not one of IP is
// shown as 127.0.0.1, with a made-up port; the listening end has port 20049.
//
// Of package loopback all below RDMA is made up: MPA's startup, and how messages are cut into DDP
// segments. What is read has a steering tag of the reader's that nobody has given out.
//
// A connection that has TLS above the one that is wrapped shows as the encrypted bytes on the wire.
// Wrap the connection of package crypto/tls, or what it is below, to see what is in it.
//
// # How much
//
// A file has a bound ([Config.Max]). What does not fit any more, and all that follows, is left out;
// connections go on. So it is when the file cannot be written. Tracing takes time, one connection
// at a time. It changes nothing else, but that package recordmark, which hands memory of several
// places to TCP at once, has each of them sent by itself.
//
// The file has data, credentials and names of files in it. So it should be for its owner alone.
package trace
