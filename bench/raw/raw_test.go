package raw

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves until the test ends.
func start(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: got %v, want %v", err, context.Canceled)
		}
	})
	return l.Addr().String()
}

// TestClient: streams and echoes take turns on a connection. That each stream is answered, and each message, is what they wait for.
func TestClient(t *testing.T) {
	c, err := Dial(t.Context(), start(t), host.Sockets{}, make([]byte, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, size := range []int{1, 4096, 1 << 20, 4096} {
		rate, err := c.Stream(size, time.Millisecond)
		if err != nil || rate <= 0 {
			t.Errorf("%d bytes at a time: got %v a second, error %v", size, rate, err)
		}
		n, sum := 0, time.Duration(0)
		if err := c.PingPong(time.Millisecond, func(d time.Duration) { n++; sum += d }); err != nil || n == 0 || n%echoRun != 0 || sum <= 0 {
			t.Errorf("got %d echoes in %v, error %v", n, sum, err)
		}
	}
}

// TestServer: what the server answers, byte for byte.
func TestServer(t *testing.T) {
	addr := start(t)
	message := func(b byte) (m []byte) {
		for range MessageSize {
			m = append(m, b)
		}
		return m
	}
	for _, tt := range []struct {
		name     string
		send     []byte
		answered int // bytes
		want     []byte
	}{
		{"a stream", append([]byte("\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03"), "abc"...), 1, nil},
		{"a stream of nothing", []byte("\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"), 1, nil},
		{"a stream that is cut", append([]byte("\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03"), "ab"...), 0, nil},
		{"echoes", append(append([]byte("\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02"), message(1)...), message(2)...), 256, append(message(1), message(2)...)},
		{"an echo that is cut", append([]byte("\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02"), 1), 0, nil},
		{"nonsense", []byte("\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00"), 0, nil},
		{"nothing", nil, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write(tt.send); err != nil {
				t.Fatal(err)
			}
			c.(*net.TCPConn).CloseWrite()
			got, err := io.ReadAll(c)
			if err != nil || len(got) != tt.answered {
				t.Errorf("got %d bytes, error %v, want %d", len(got), err, tt.answered)
			}
			if tt.want != nil && string(got) != string(tt.want) {
				t.Errorf("got %x, want %x", got, tt.want)
			}
		})
	}
}

// TestManyConns: more connections than there are places wait, and have their turn.
func TestManyConns(t *testing.T) {
	addr := start(t)
	var all []*Client
	for range maxConns + 2 {
		c, err := Dial(t.Context(), addr, host.Sockets{}, make([]byte, 1))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.PingPong(1, func(time.Duration) {}); err != nil {
			t.Error(err)
		}
		c.Close()
	}
}
