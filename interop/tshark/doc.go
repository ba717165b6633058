// Package tshark has tests in which Wireshark's decoder reads sessions of transport/iwarp and
// rpcrdma off the loopback interface. They have the build tag interop, and need tshark and dumpcap,
// and the right to capture.
package tshark
