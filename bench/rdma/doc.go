// Package rdma has benchmark scenarios for any provider of the transport contract: RDMA Writes,
// RDMA Reads, Sends one at a time, and many Sends in flight. Package paired has a yardstick for
// each, which does the same over raw TCP. The benchmarks are in the providers' packages:
//
//	go test -run '^$' -bench Paired -benchtime 1x ./transport/iwarp
//
// Candidate and yardstick work alike, so that a ratio shows the cost of the provider alone. Bulk
// data always goes from one buffer of 1 MiB to one place, nobody looks at it, and the receiver
// confirms the end of a stream. Nothing here allocates after the setup, so the allocations in a
// report are the provider's.
//
// docs/performance.md has the results.
package rdma
