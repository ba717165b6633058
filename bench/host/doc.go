// Package host is what benchmarks want of the machine that they run on: children on CPUs of their
// own, sockets that are set up
// alike, and what a process has used. What a system does not offer is an error there, or nothing.
package host
