// Package tshark checks sessions of transport/iwarp and rpcrdma with Wireshark's decoder, which
// reads them from the loopback interface.
//
//	go test -tags interop ./interop/tshark
//
// The tests need tshark and dumpcap, and the right to capture.
package tshark
