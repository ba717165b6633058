// Package faultnet is a network with faults, to test with: what runs over it meets slow links,
// stalls, cut connections, lost packets and refused memory, as often as the test says.
//
// # What there is
//
// Streams, each connection of which is a [Link]:
//
//   - [Relay] passes real TCP connections on to a server. Clients dial [Relay.Addr] in place of it.
//   - [Memory] is a network of hosts in memory. Servers take its listeners, and clients its
//     [Memory.Dialer]. It works in the virtual time of testing/synctest, where an hour of network
//     takes a moment, and times are exact.
//   - [Pipe] is one connection in memory, likewise.
//
// Packets:
//
//   - [Datagrams] passes real UDP datagrams on to a server.
//   - [Frames] joins two Ethernet devices. On Linux these can be Taps of two Namespaces: hosts of
//     their own, whose kernels speak any protocol to each other, with their own addresses and
//     checksums.
//
// And [Provider] wraps any provider of package transport: requests are delayed, completions held
// back, connections ended before a request, memory refused.
//
// # Faults
//
// A [Way] is what a direction is like: bandwidth, delay, jitter, how much it holds, how streams are
// cut into segments, flipped bits, and for packets loss, duplication and reordering. Each direction
// has a Way of its own, and it can change at any time (SetWay). These are common ones:
//
//	faultnet.Way{Bandwidth: 125_000, Delay: 150 * time.Millisecond} // 1 Mbit/s by satellite
//	faultnet.Way{Bandwidth: 10_000, Buffer: 1}                      // a slow reader
//	faultnet.Way{Bandwidth: 10, MaxSegment: 1}                      // ten bytes a second
//	faultnet.Way{Loss: 1}                                           // packets: the cable is out
//
// What happens to one connection at some moment is up to its Link, which [Config.OnLink] and the
// Links method of the network give:
//
//   - [Link.Freeze] holds everything back until [Link.Thaw], also the end of the connection. So
//     what was sent on a connection that has been replaced can arrive late, after what was sent on
//     the new one: freeze Up, let the client give up and dial again, and thaw.
//   - [Link.Cut] ends it by FIN or RST, and [Link.CutAt] at a byte.
//   - [Link.Vanish] leaves it half open: one end is gone, and the other is not told.
//
// Random numbers come from [Config.Seed]: print it when a test fails. [Counters] tell which faults
// a test has met.
package faultnet
