package mpa

import "net"

// tap is a connection of TCP that is told what passes: what package trace makes of one.
type tap interface {
	net.Conn

	// TCPConn is the connection itself, for system calls.
	TCPConn() *net.TCPConn

	// Sending calls write, which does not block, and learns how many bytes of pieces it has sent.
	Sending(pieces [][]byte, write func() (int, error)) (int, error)

	// Received learns what came of reading to pieces. No bytes without an error are the end.
	Received(pieces [][]byte, n int, err error)
}

// tcpOf returns the connection of TCP that conn is, and what is told about it, if anything.
func tcpOf(conn net.Conn) (tcp *net.TCPConn, t tap) {
	if t, ok := conn.(tap); ok {
		return t.TCPConn(), t
	}
	tcp, _ = conn.(*net.TCPConn)
	return tcp, nil
}
