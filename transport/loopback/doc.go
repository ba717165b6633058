// Package loopback is a provider that connects endpoints within one process. It is for tests, for
// programs that hold both ends, and to measure the cost of the layers above.
//
//	fabric := loopback.New()
//	listener, err := fabric.Listen("server", loopback.Config{})
//	dialer := fabric.Dialer(loopback.Config{})
//	ep, err := dialer.Dial(ctx, "server", nil) // the other end: listener.Accept
//
// The example of package rpcrdma uses it.
//
// It follows the whole contract of package transport: it checks steering tags, uses up posted
// receives, and copies each byte exactly once, between the memory of the two ends.
//
// One goroutine serves a connection. It executes the work requests of both ends and calls their
// Completers and MessageHandlers. A call and its reply take two switches between goroutines, or
// none if the caller polls ([transport.Poller]).
//
// RDMA Reads are executed at once, so one at most is outstanding, whatever IRD and ORD allow, and
// [transport.Fence] has no effect.
//
// Each [Dialer] counts as a host of its own. Its connections have ports of that host, such as
// "dialer#1:2". Layers above that tell clients apart by host, such as the reply cache of package
// oncrpc, see one client for each Dialer.
package loopback
