// Package control is the RPC program through which a bench server tells its clients where it
// listens, and how much CPU time and memory its process has used.
//
//	err := server.Handle(control.New(info, server))  // an *oncrpc.Server
//	c := control.NewClient(transport)                // an oncrpc.Transport
//	info, err := c.Info(ctx)
//	usage, err := c.Usage(ctx)
package control

// Number is from the range that RFC 5531 section 8.3 leaves to users.
const (
	Number  = 0x20716231
	Version = 2
)

// The procedures. They take no arguments.
const (
	procInfo  = 1 // Info
	procUsage = 2 // Usage
)
