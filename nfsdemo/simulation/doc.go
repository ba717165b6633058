// Package simulation runs the whole stack in virtual time, over a network with faults: several NFS
// clients on hosts of their own, redial, rpcrdma, iwarp, and a server that is started again now and
// then. It has tests alone.
//
// A seed says which faults there are and when, and what the clients do. What they saw is checked
// against what NFSv3 promises, and at the end nothing may be left: no goroutine, no memory, no
// registration, no credit. A test that fails prints its seed, which replays alone:
//
//	go test ./nfsdemo/simulation -run TestSimulation -seed N
//
// The same seed draws the same faults at the same times. The scheduler of Go decides what happens
// first of what happens at the same instant, so a replay may take another course from there on.
package simulation
