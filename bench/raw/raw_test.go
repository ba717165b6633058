package raw

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const maxConns = 4

// start serves until the test ends.
func start(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- Serve(ctx, l, maxConns) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: got %v, want %v", err, context.Canceled)
		}
	})
	return l.Addr().String()
}

// TestClient: streams and echoes take turns on a connection. Each waits for its answer.
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
		for _, batch := range []int{1, 7, 64} {
			if err := c.Announce(1000, 64, batch); err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{1, 99, 900} {
				if err := c.Exchange(n, nil); err != nil {
					t.Errorf("%d messages in batches of %d: %v", n, batch, err)
				}
			}
		}
		for _, n := range []int{1, 3, 20} {
			if err := c.Request(n); err != nil {
				t.Errorf("%d requests: %v", n, err)
			}
		}
	}
}

// TestServer: the server's answers, byte for byte.
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
		{"echoes in a batch", append(append([]byte("\x00\x00\x00\x02\x00\x02\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02"), message(1)...), message(2)...), 256, append(message(1), message(2)...)},
		{"a window that is too large", []byte("\x00\x00\x00\x41\x00\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01"), 0, nil},
		{"a request", append([]byte("\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01"), message(1)[:64]...), BulkSize, host.Pattern(BulkSize)},
		{"a call", call(1, 3, 2, "abc"), 130, append(call(1, 3, 2, "")[headSize:], "ab"...)},
		{"a slot that is not there", call(64, 0, 2, ""), 0, nil},
		{"a payload that is too large", call(0, 0, maxSlotMemory+1, ""), 0, nil},
		{"a payload that is negative on some", call(0, 1<<32-1, 0, ""), 0, nil},
		{"nonsense", []byte("\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00"), 0, nil},
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

// call encodes one call: its head, its message, and payload.
func call(slot, request, response uint32, payload string) []byte {
	b := append([]byte("\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01"), host.Pattern(MessageSize)...)
	binary.BigEndian.PutUint32(b[headSize:], slot)
	binary.BigEndian.PutUint32(b[headSize+4:], request)
	binary.BigEndian.PutUint32(b[headSize+8:], response)
	return append(b, payload...)
}

// TestCalls: any number of calls is answered, and payloads of responses land in the slots.
func TestCalls(t *testing.T) {
	c, err := Dial(t.Context(), start(t), host.Sockets{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const size = 64 << 10
	for _, transfer := range []Transfer{
		{Response: size, InFlight: 1}, {Response: size, InFlight: 4}, {Request: size, InFlight: 4},
	} {
		calls := c.Calls(transfer)
		for _, slot := range calls.book.slots {
			if transfer.Response > 0 {
				clear(slot)
			}
		}
		for _, n := range []int{1, 3, 9} {
			if err := calls.Run(n); err != nil {
				t.Fatal(err)
			}
		}
		for i, slot := range calls.book.slots {
			if !bytes.Equal(slot, host.Pattern(size)) {
				t.Errorf("%+v: slot %d has other bytes than the server's", transfer, i)
			}
		}
	}
}

// TestSlotMemory: the total size of a connection's slots is bounded too.
func TestSlotMemory(t *testing.T) {
	b := new(callBook)
	for slot := range 4 {
		if err := b.provide(message{slot, maxSlotMemory / 4, 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.provide(message{3, 1, maxSlotMemory / 4}); err != nil {
		t.Errorf("a slot that is there: %v", err)
	}
	if err := b.provide(message{4, 1, 1}); !errors.Is(err, errCall) {
		t.Errorf("got error %v, want %v", err, errCall)
	}
}

// TestFile: a file arrives unchanged. A file shorter than announced is an error.
func TestFile(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := host.Pattern(3<<20 + 1)
	for _, tt := range []struct {
		size int64 // that is said
		err  error // of the sender
	}{{int64(len(want)), nil}, {int64(len(want)) + 1, io.ErrUnexpectedEOF}} {
		var got bytes.Buffer
		received := make(chan error, 1)
		go func() { received <- Receive(l, &got) }()
		c, err := Dial(t.Context(), l.Addr().String(), host.Sockets{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SendFile(bytes.NewReader(want), tt.size); !errors.Is(err, tt.err) {
			t.Errorf("SendFile: got error %v, want %v", err, tt.err)
		}
		c.Close()
		if err := <-received; (err == nil) != (tt.err == nil) || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("Receive: got %d bytes, error %v", got.Len(), err)
		}
	}
}

// TestManyConns: connections beyond the limit wait for their turn.
func TestManyConns(t *testing.T) {
	addr := start(t)
	var all []*Client
	for range maxConns + 2 {
		c, err := Dial(t.Context(), addr, host.Sockets{}, make([]byte, MessageSize))
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
