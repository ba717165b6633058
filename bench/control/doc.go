// Package control is the RPC program by which a bench server tells where it listens, and what its
// process has used.
package control

// The program. Its number is of the range that RFC 5531 leaves to users.
const (
	Number  = 0x20716231
	Version = 2
)

// The procedures. They take no arguments.
const (
	procInfo  = 1 // Info
	procUsage = 2 // Usage
)
