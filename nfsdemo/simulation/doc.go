// Package simulation tests the whole stack in virtual time over a network with faults. Several NFS
// clients on hosts of their own (redial, rpcrdma, iwarp) use a server that restarts now and then.
// It has only tests.
//
// A seed determines the faults, their times, and what the clients do. The tests check that clients
// saw what NFS version 3 promises, and that nothing is left at the end: no goroutine, memory,
// registration or credit. A test that fails prints its seed, which runs it again:
//
//	go test ./nfsdemo/simulation -run TestSimulation -seed N
//
// The same seed gives the same faults at the same times. Go's scheduler decides the order of events
// at the same instant, so a second run may differ from there on.
package simulation
