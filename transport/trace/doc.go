// Package trace writes what connections send and receive to a pcap file, for Wireshark and tshark.
//
//	f, err := os.OpenFile("rpc.pcap", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
//	...
//	w, err := trace.New(f, trace.Config{})
//	...
//	l = w.Listener(l) // each connection that l accepts is traced
//
// A [Writer] traces
//
//   - TCP connections: [Writer.Listener], [Writer.DialContext], [Writer.Dialed]. That includes RPC
//     over TCP, and iWARP by iwarp.NewListener and iwarp.Dialer.DialContext;
//   - iWARP over SCTP: set sctp.Config.Trace to [Writer.Datagram];
//   - package loopback, shown as iWARP over TCP: [Writer.Loopback].
//
// The package example traces connections of every kind. The file contains data, credentials and
// file names, so only its owner should be able to read it.
//
// # What is made up
//
// The packets show what this end has sent and received, and when. They are not the packets of the
// network. Data, times, and addresses with their ports are real. IP headers (LINKTYPE_RAW), TCP
// handshakes, sequence numbers, acknowledgements and segment boundaries are made up, with correct
// checksums. No packet is lost or repeated. A FIN stands where this end closed, or learned that
// the peer did. If either end has no IP address, both appear as 127.0.0.1: the dialing end with a
// made-up port, the listening end with port 20049.
//
// For package loopback everything below RDMA is made up: the startup of MPA, the DDP segments, and
// the steering tags that RDMA Reads read into.
//
// TLS shows as encrypted bytes if the connection below it is traced. To see the plain text, trace
// the connection of package crypto/tls.
//
// # Limits
//
// A file has at most [Config.Max] bytes. When it is full, or cannot be written, tracing ends
// ([Config.Ended], [Writer.Err]); connections go on.
//
// Tracing takes time, for one connection at a time. It has one other effect: package recordmark
// sends pieces of scattered memory one by one instead of all at once.
package trace
