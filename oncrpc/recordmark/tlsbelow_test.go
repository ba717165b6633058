package recordmark

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
)

// charged has the waits, as 0, and the charges of a connection.
type charged []int

func (c *charged) Await()       { *c = append(*c, 0) }
func (c *charged) Charge(n int) { *c = append(*c, n) }

// stream is what a peer sends.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(p []byte) (int, error)  { return s.Reader.Read(p) }
func (s stream) Write(p []byte) (int, error) { return len(p), nil }
func (s stream) RemoteAddr() net.Addr        { return nil }

// TestTLSCharges: a host pays for its handshake before that has its turn, and for each record
// before TLS gets it.
func TestTLSCharges(t *testing.T) {
	record := func(n int) []byte {
		return append([]byte{23, 3, 3, byte(n >> 8), byte(n)}, make([]byte, n)...)
	}
	tiny := bytes.Repeat(record(17), 100)
	for _, tt := range []struct {
		name      string
		handshake bool
		reads     [][]byte
		want      charged
		err       error
	}{
		{"a handshake", true, [][]byte{record(250)}, charged{80, 0}, nil},
		{"a long one", true, [][]byte{record(1600), record(3000)}, charged{160, 0, 240, 0}, nil},
		{"that trickles", true, [][]byte{{22}, {3}, {3}}, charged{80, 0, 0, 0, 0, 0}, nil},
		{"one that is too long", true, [][]byte{make([]byte, 64<<10+1)}, charged{65 * 80},
			errLongHandshake},
		{"a record", false, [][]byte{record(1000)}, charged{0}, nil},
		{"in two reads", false, [][]byte{record(9)[:4], record(9)[4:]}, charged{0, 0}, nil},
		{"tiny records", false, [][]byte{tiny}, charged{0, 99}, nil},
		{"from the middle of one", false, [][]byte{tiny[:30], tiny[30:]}, charged{0, 1, 0, 97}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := new(charged)
			b := &tlsBelow{reader: got}
			if tt.handshake {
				c := newConn(stream{}, Config{Counters: new(Counters)})
				b.handshake(c, budget.New[waiter](maxHandshakes))
				defer b.over()
			}
			for _, p := range tt.reads {
				b.Conn = stream{Reader: bytes.NewReader(p)}
				if n, err := b.Read(make([]byte, len(p))); n != len(p) || !errors.Is(err, tt.err) {
					t.Fatal(n, err)
				}
			}
			if !slices.Equal(*got, tt.want) {
				t.Errorf("charged %v, want %v", *got, tt.want)
			}
		})
	}
}

// TestTLSWrites: a handshake does not keep its turn while it waits for the peer to take what it
// says.
func TestTLSWrites(t *testing.T) {
	places := budget.New[waiter](maxHandshakes)
	b := &tlsBelow{Conn: stream{Reader: bytes.NewReader(make([]byte, 2))}, reader: new(charged)}
	b.handshake(newConn(b.Conn, Config{Counters: new(Counters)}), places)
	defer b.over()
	for range 2 {
		if _, err := b.Read(make([]byte, 1)); err != nil || places.Taken() != 1 {
			t.Fatalf("%d have their turn when it has read, %v", places.Taken(), err)
		}
		if _, err := b.Write([]byte{1}); err != nil || places.Taken() != 0 {
			t.Fatalf("%d have their turn when it writes, %v", places.Taken(), err)
		}
	}
}
