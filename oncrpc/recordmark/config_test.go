package recordmark_test

import (
	"errors"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// callLen is the length in bytes of exchange's call without data.
const callLen = 44

// unusedListener is a net.Listener that must be closed without accepting.
type unusedListener struct {
	t      *testing.T
	closed bool
}

func (l *unusedListener) Accept() (net.Conn, error) {
	l.t.Error("a connection is accepted")
	return nil, io.EOF
}

func (l *unusedListener) Close() error {
	l.closed = true
	return nil
}

func (l *unusedListener) Addr() net.Addr { return &net.TCPAddr{} }

// Fields out of range, and fields that contradict others, are errors. Nothing is started.
func TestConfigErrors(t *testing.T) {
	const tooLong = math.MaxInt32 + 1
	for _, tt := range []struct {
		name  string
		cfg   recordmark.Config
		field string
		value any
	}{
		{"MaxRecord below 0", recordmark.Config{MaxRecord: -1}, "MaxRecord", -1},
		{"MaxFragment below 0", recordmark.Config{MaxFragment: -1}, "MaxFragment", -1},
		{"MaxFragment too large", recordmark.Config{MaxFragment: tooLong}, "MaxFragment", tooLong},
		{"MaxCalls below 0", recordmark.Config{MaxCalls: -1}, "MaxCalls", -1},
		{"MaxInFlight below 0", recordmark.Config{MaxInFlight: -1}, "MaxInFlight", -1},
		{"MaxInFlight too large", recordmark.Config{MaxInFlight: 1<<20 + 1}, "MaxInFlight", 1<<20 + 1},
		{"Memory below 0", recordmark.Config{Memory: -1}, "Memory", -1},
		{"Memory for MaxRecord", recordmark.Config{MaxRecord: maxRecord, Memory: oneRecord - 1},
			"Memory", oneRecord - 1},
		{"Memory for a large MaxRecord", recordmark.Config{MaxRecord: 1 << 30, Memory: 1<<30 - 1},
			"Memory", 1<<30 - 1},
		{"CancelGrace below 0", recordmark.Config{CancelGrace: -1}, "CancelGrace", time.Duration(-1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(function string, err error) {
				t.Helper()
				var wrong *oncrpc.ConfigError
				if !errors.As(err, &wrong) || wrong.Config != "recordmark.Config" ||
					wrong.Field != tt.field || wrong.Value != tt.value {
					t.Errorf("%s: got %v, want an error about %s, %v", function, err, tt.field, tt.value)
				}
			}
			_, err := recordmark.Dial(t.Context(), "no address", tt.cfg)
			check("Dial", err)
			_, err = recordmark.DialPrivileged(t.Context(), "no address", tt.cfg)
			check("DialPrivileged", err)
			near, far := net.Pipe()
			defer near.Close()
			defer far.Close()
			c, err := recordmark.NewConn(near, tt.cfg)
			check("NewConn", err)
			if c != nil {
				t.Errorf("got connection %v", c)
			}
			if err := near.SetDeadline(time.Time{}); err != nil {
				t.Errorf("the connection that NewConn has not taken: %v", err)
			}
			l := &unusedListener{t: t}
			check("Serve", recordmark.Serve(t.Context(), l, server(t, echo), tt.cfg))
			if !l.closed {
				t.Error("the listener is not closed")
			}
		})
	}
}

// A single field set to its bounds, at both ends of a connection, works with the defaults of the
// others.
func TestConfigAlone(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    recordmark.Config
		record int // the longest call that can be sent, in bytes
	}{
		{"nothing", recordmark.Config{}, recordmark.DefaultMaxRecord},
		{"the smallest MaxRecord", recordmark.Config{MaxRecord: 1}, 1},
		{"a small MaxRecord", recordmark.Config{MaxRecord: 1000}, 1000},
		{"the largest MaxRecord", recordmark.Config{MaxRecord: math.MaxInt}, math.MaxInt},
		{"the smallest MaxFragment", recordmark.Config{MaxFragment: 1}, recordmark.DefaultMaxRecord},
		{"the largest MaxFragment", recordmark.Config{MaxFragment: math.MaxInt32},
			recordmark.DefaultMaxRecord},
		{"one call", recordmark.Config{MaxCalls: 1}, recordmark.DefaultMaxRecord},
		{"any number of calls", recordmark.Config{MaxCalls: math.MaxInt}, recordmark.DefaultMaxRecord},
		{"one call in flight", recordmark.Config{MaxInFlight: 1}, recordmark.DefaultMaxRecord},
		{"the most in flight", recordmark.Config{MaxInFlight: 1 << 20}, recordmark.DefaultMaxRecord},
		{"the least Memory", recordmark.Config{Memory: 1}, 64 << 10},
		{"Memory below that of a record that counts", recordmark.Config{Memory: 65<<10 - 1}, 64 << 10},
		{"Memory of a record that counts", recordmark.Config{Memory: 65 << 10}, 65 << 10},
		{"Memory below that of a larger one", recordmark.Config{Memory: oneRecord - 1}, 130 << 10},
		{"Memory of a larger one", recordmark.Config{Memory: oneRecord}, oneRecord},
		{"Memory of the default", recordmark.Config{Memory: recordmark.DefaultMaxRecord},
			recordmark.DefaultMaxRecord},
		{"any Memory", recordmark.Config{Memory: math.MaxInt}, recordmark.DefaultMaxRecord},
		{"RecordTimeout", recordmark.Config{RecordTimeout: math.MaxInt64}, recordmark.DefaultMaxRecord},
		{"no RecordTimeout", recordmark.Config{RecordTimeout: -1}, recordmark.DefaultMaxRecord},
		{"CancelGrace", recordmark.Config{CancelGrace: 1}, recordmark.DefaultMaxRecord},
		{"WriteTimeout", recordmark.Config{WriteTimeout: math.MaxInt64}, recordmark.DefaultMaxRecord},
		{"no WriteTimeout", recordmark.Config{WriteTimeout: -1}, recordmark.DefaultMaxRecord},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Logger = quiet
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := server(t, echo)
			served := make(chan error, 1)
			go func() { served <- recordmark.Serve(t.Context(), l, s, tt.cfg) }()
			c, err := recordmark.Dial(t.Context(), l.Addr().String(), tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				c.Close()
				s.Close()
				if err := hang.Receive(t, "the end of Serve", served); !errors.Is(err, oncrpc.ErrServerClosed) {
					t.Error(err)
				}
			}()
			if n := tt.record/4*4 + 4; n > 0 && n <= recordmark.DefaultMaxRecord+4 {
				err := c.RoundTrip(t.Context(), exchange(make([]byte, max(0, n-callLen))))
				var tooLong *oncrpc.CallTooLongError
				want := oncrpc.CallTooLongError{Len: max(callLen, n), Max: tt.record}
				if !errors.As(err, &tooLong) || *tooLong != want {
					t.Errorf("one unit too much: got error %v, want %+v", err, want)
				}
			}
			if n := min(tt.record, 300_000) / 4 * 4; n >= callLen {
				if err := c.RoundTrip(t.Context(), exchange(make([]byte, n-callLen))); err != nil {
					t.Errorf("a call of %d bytes: %v", n, err)
				}
			}
		})
	}
}
