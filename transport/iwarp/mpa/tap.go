package mpa

import "net"

// tap is a TCP connection that is told what passes. Package trace makes one.
type tap interface {
	net.Conn

	// TCPConn returns the connection itself, for system calls.
	TCPConn() *net.TCPConn

	// Sending calls write, which does not block, and records how many bytes of pieces it has sent.
	Sending(pieces [][]byte, write func() (int, error)) (int, error)

	// Received records the result of a read into pieces. 0 bytes without an error are the end.
	Received(pieces [][]byte, n int, err error)
}

// tcpOf returns the TCP connection that conn is or wraps, and its tap, if any.
func tcpOf(conn net.Conn) (tcp *net.TCPConn, t tap) {
	if t, ok := conn.(tap); ok {
		return t.TCPConn(), t
	}
	tcp, _ = conn.(*net.TCPConn)
	return tcp, nil
}
