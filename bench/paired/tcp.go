package paired

import (
	"context"
	"errors"
	"io"
	"net"
)

// tcpServer accepts one connection and serves it.
type tcpServer struct {
	listener net.Listener
	served   chan error
}

// listenTCP returns a server that calls serve, until the client closes the connection.
func listenTCP(ctx context.Context, s Sockets, serve func(net.Conn) error) (Server, error) {
	lc := net.ListenConfig{Control: s.Control}
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tcpServer{listener: l, served: make(chan error, 1)}
	go func() { t.served <- t.serve(serve) }()
	return t, nil
}

func (t *tcpServer) serve(serve func(net.Conn) error) error {
	c, err := t.listener.Accept()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if err := serve(c); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func (t *tcpServer) Addr() string { return t.listener.Addr().String() }

// Close waits for the client to have closed the connection.
func (t *tcpServer) Close() error {
	err := t.listener.Close()
	return errors.Join(err, <-t.served)
}

// dialTCP connects to a tcpServer.
func dialTCP(ctx context.Context, s Sockets, addr string) (net.Conn, error) {
	d := net.Dialer{Control: s.Control}
	return d.DialContext(ctx, "tcp", addr)
}

// pattern returns n bytes to send. Memory that has never been written to is all the same page of
// zeros, and faster to send than anybody's data.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i)
	}
	return p
}
