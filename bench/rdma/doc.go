// Package rdma has benchmark scenarios for any provider of the transport contract: RDMA
// Writes, RDMA Reads, Sends one at a time and Sends in flight. Each has its
// yardstick in bench/paired, which does the same over raw TCP.
//
// What both have in common, so that a ratio says something about the provider alone: bulk data
// comes from one buffer of 1 MiB and goes to one place, in every operation the same; nobody looks
// at it; and the end of a stream is confirmed by whoever received it.
//
// Nothing here allocates after the setup, so what a report shows under allocations is the
// provider's.
package rdma
