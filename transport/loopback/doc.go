// Package loopback is a provider that connects endpoints within one process. It
// honours the whole contract of package transport: steering tags are checked, posted
// receives consumed, bytes placed by exactly one copy between the memory of the two
// ends. It is for tests, for programs that hold both ends, and the yardstick of what
// the layers above cost.
//
// One goroutine serves a connection. It executes the work requests of both ends and calls their
// Completers and MessageHandlers, so that a call and its reply take two switches between
// goroutines; or none, when the caller polls ([transport.Poller]). RDMA Reads run to their end when
// their turn comes: at most one is ever outstanding, whatever IRD and ORD allow, and
// [transport.Fence] holds nothing back.
//
// Each [Dialer] is a host of its own, and each of its connections has a port of that host, as
// in "dialer#1:2". What goes by the host of a peer, such as the reply cache of package oncrpc,
// takes the connections of one Dialer for those of one client.
package loopback
