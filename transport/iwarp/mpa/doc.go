// Package mpa implements Marker PDU Aligned Framing (RFC 5044, RFC 6581): the startup by which two
// ends of a TCP connection agree to speak iWARP, and the stream of FPDUs that carries DDP segments
// after that.
//
// Package iwarp uses it as follows. One side asks:
//
//	setup, err := mpa.Initiate(conn, mpa.Config{IRD: 16, ORD: 16}, private)
//
// The other side reads the request and answers it:
//
//	request, err := mpa.ReadRequest(conn)
//	setup, err := request.Accept(mpa.Config{IRD: 16, ORD: 16}, private) // or request.Reject
//
// Both get a [Setup]. Then each makes a [Conn], which implements [ddp.LLP]:
//
//	c, err := mpa.NewConn(conn, mpa.ConnOptions{CRC: setup.CRC, Stall: 30 * time.Second})
//
// The package example runs a startup.
//
// The startup fails with a [RejectError] if the peer refused, and otherwise with a [StartupError],
// which wraps one of the errors below, such as [ErrFrame]. A wrong [Config] is an error that wraps
// [ErrConfig].
//
// A Conn reads and writes TCP on Linux by system calls that do not block (socket_linux.go), and all
// else by Read and Write (socket_plain.go).
package mpa
