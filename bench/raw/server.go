package raw

import (
	"context"
	"io"
	"net"
	"sync"
)

// Serve serves connections of l until ctx ends or l is closed, up to maxConns at a time; more must
// wait. At the end it closes l and the connections, and waits for them. It returns what ended it.
func Serve(ctx context.Context, l net.Listener, maxConns int) error {
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer wg.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	places := make(chan struct{}, maxConns)
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			c.Close()
			continue
		}
		wg.Go(func() {
			defer func() { <-places }()
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
			defer c.Close()
			_ = (&server{conn: c}).answer() // a client notices its own errors
		})
	}
}

// server is the server's end of one connection.
type server struct {
	conn  net.Conn
	buf   []byte    // grows as needed
	data  []byte    // the answer to requests; nil before the first
	calls *callBook // nil before the first
}

// room returns n bytes of buf.
func (s *server) room(n int) []byte {
	if len(s.buf) < n {
		s.buf = make([]byte, n)
	}
	return s.buf[:n]
}

// answer serves the connection until its end.
func (s *server) answer() error {
	for {
		b := s.room(headSize)
		if _, err := io.ReadFull(s.conn, b); err != nil {
			return err
		}
		var err error
		switch h := parseHead(b); h.what {
		case stream:
			err = s.sink(h.n, io.Discard, readSize)
		case echo:
			err = s.echoes(h)
		case requests:
			err = s.requests(h.n)
		case calls:
			err = s.serveCalls(h.n)
		default:
			err = errHead
		}
		if err != nil {
			return err
		}
	}
}
