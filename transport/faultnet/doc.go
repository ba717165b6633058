// Package faultnet simulates bad networks for tests: slow links, stalls, cut connections, lost
// packets and refused memory.
//
// A test puts such a network between its client and its server:
//
//	relay, err := faultnet.NewRelay(serverAddr, faultnet.Config{
//		Seed: seed,
//		Down: faultnet.Way{Bandwidth: 125_000, Delay: 150 * time.Millisecond},
//	})
//	defer relay.Close()
//	... // dial relay.Addr() instead of the server
//	relay.Links()[0].Cut(faultnet.RST)
//
// The package example is a whole one.
//
// # Networks
//
// Streams; each connection is a [Link]:
//
//   - [Relay] forwards real TCP connections to a server.
//   - [Memory] is a network of hosts in memory. It works in the virtual time of testing/synctest,
//     where an hour passes in a moment and times are exact.
//   - [Pipe] is one connection in memory, likewise.
//
// Packets:
//
//   - [Datagrams] forwards real UDP datagrams to a server.
//   - [Frames] joins two Ethernet devices. On Linux these can be Taps of two Namespaces, which are
//     hosts of their own: their kernels speak any protocol with each other.
//
// RDMA:
//
//   - [Provider] wraps a provider of package transport. It delays requests and completions, ends
//     connections before a request, and refuses memory.
//
// # Faults
//
// A [Way] describes one direction: bandwidth, delay, jitter, buffer, how streams are cut into
// segments, flipped bits, and for packets loss, duplication and reordering. Each direction has its
// own, and SetWay changes it at any time. Common ones:
//
//	faultnet.Way{Bandwidth: 125_000, Delay: 150 * time.Millisecond} // 1 Mbit/s by satellite
//	faultnet.Way{Bandwidth: 10_000, Buffer: 1}                      // a slow reader
//	faultnet.Way{Bandwidth: 10, MaxSegment: 1}                      // ten bytes a second
//	faultnet.Way{Loss: 1}                                           // packets: the cable is out
//
// A Link changes one connection at a certain moment. [Config.OnLink] and the Links method of the
// network return Links:
//
//   - [Link.Freeze] holds everything back until [Link.Thaw], also the end of the connection. So
//     data of a replaced connection can arrive after that of its successor: freeze Up, let the
//     client give up and dial again, then thaw.
//   - [Link.Cut] ends the connection by FIN or RST, and [Link.CutAt] does so at a certain byte.
//   - [Link.Vanish] leaves it half open: one end is gone and the other does not learn it.
//
// All random numbers come from [Config.Seed]: print it when a test fails. [Counters] count the
// faults that have happened. Values that make no sense, such as a probability of 2, panic.
package faultnet
