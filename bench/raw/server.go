package raw

import (
	"context"
	"io"
	"net"
	"sync"
)

const (
	// readSize is how much one read takes. With less it gets slower, with more no faster.
	readSize = 256 << 10
	// maxConns bounds the connections of a server; others wait.
	maxConns = 64
)

// Serve answers connections of l until ctx ends or l is closed. It closes l, ends the connections and waits for them; then it returns what has ended
// it.
func Serve(ctx context.Context, l net.Listener) error {
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
			_ = answer(c) // what is wrong with a client it finds out itself
		})
	}
}

// answer serves one connection until its end.
func answer(c net.Conn) error {
	buf := make([]byte, readSize)
	for {
		if _, err := io.ReadFull(c, buf[:headSize]); err != nil {
			return err
		}
		var err error
		switch what, n := parseHead(buf); what {
		case stream:
			err = sink(c, buf, n)
		case echo:
			err = echoes(c, buf, n)
		default:
			err = errHead
		}
		if err != nil {
			return err
		}
	}
}

// sink reads n bytes and answers with one.
func sink(c net.Conn, buf []byte, n uint64) error {
	for n > 0 {
		k, err := c.Read(buf[:min(n, uint64(len(buf)))])
		if err != nil {
			return err
		}
		n -= uint64(k)
	}
	_, err := c.Write(buf[:1])
	return err
}

// echoes sends back n messages.
func echoes(c net.Conn, buf []byte, n uint64) error {
	for ; n > 0; n-- {
		if _, err := io.ReadFull(c, buf[:MessageSize]); err != nil {
			return err
		}
		if _, err := c.Write(buf[:MessageSize]); err != nil {
			return err
		}
	}
	return nil
}
