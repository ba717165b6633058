// Package host gives benchmarks what they need from the machine: child processes on CPUs of their
// own, sockets with the same settings, and the CPU time and memory that a process has used.
//
//	c, err := host.Program{Role: "server", CPUs: []int{0}}.Start(ctx) // this binary again
//	undo, err := host.Pin(1)
//	usage := new(host.Meter).Used()
//
// Where a system lacks a feature, its function returns an error or does nothing, as documented.
package host
