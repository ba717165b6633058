// Package linux tests transport/iwarp, and what stands on it, against the Linux kernel's Soft-iWARP (siw) in a virtual machine.
// The tests have the build tag interop; the scripts build and run are the machine.
package linux
