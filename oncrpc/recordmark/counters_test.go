package recordmark_test

import (
	"context"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Connections are counted by how they ended, and memory while Serve runs.
func TestCountersOfConns(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var counters recordmark.Counters
	srv := server(t, echo)
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(t.Context(), l, srv,
			recordmark.Config{Counters: &counters, Memory: 64 << 20})
	}()
	ends := map[string]func(*net.TCPConn){
		"closed": func(c *net.TCPConn) {},
		"reset":  func(c *net.TCPConn) { c.SetLinger(0) },
		"no record": func(c *net.TCPConn) {
			c.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			c.Read(make([]byte, 1))
		},
	}
	for name, end := range ends {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		before := counters.Stats()
		c, err := recordmark.NewConn(conn, recordmark.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if name != "no record" { // that is no call, either
			if err := client(c).Call(context.Background(), 1, data("hello"), make(data, 5)); err != nil {
				t.Fatal(err)
			}
		}
		end(conn.(*net.TCPConn))
		conn.Close()
		hang.Until(t, "the connection is not counted as ended", func() bool {
			s := counters.Stats()
			return s.Closed+s.Lost == before.Closed+before.Lost+1
		})
		c.Close()
	}
	got := counters.Stats()
	if got.Conns != 3 || got.Closed != 1 || got.Lost != 2 || got.Stalled != 0 {
		t.Errorf("got %+v; one connection was closed, and two were lost", got)
	}
	if got.Memory != 0 || got.MemoryLimit != 64<<20 {
		t.Errorf("%d bytes of %d in use, want none of 64 MiB", got.Memory, got.MemoryLimit)
	}
	srv.Close()
	if err := hang.Receive(t, "the end of Serve", served); err != oncrpc.ErrServerClosed {
		t.Error(err)
	}
	if got := counters.Stats(); got.MemoryLimit != 0 {
		t.Errorf("without a Serve there is a limit of %d bytes", got.MemoryLimit)
	}
}
