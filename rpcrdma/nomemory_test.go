package rpcrdma_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestReplyWithoutMemory: a server without memory for a reply closes the connection, so that the
// client repeats the call (RFC 8166 section 4.5.4).
func TestReplyWithoutMemory(t *testing.T) {
	for _, d := range dialects {
		faults := faultnet.NewProvider(faultnet.ProviderConfig{})
		l, dialer := providers["loopback"](t)
		cfg := rpcrdma.Config{Dialect: d}
		r := serveRig(t, cfg, faults.Listener(l), dialer, sameEndpoint)
		read := func(c *rpcrdma.Conn) error {
			var got items
			result := make([]byte, 5000)
			err := client(c).Do(t.Context(), &oncrpc.Request{Procedure: procSource,
				Args: &source{1, 5000}, Reply: &got, Results: [][]byte{result}, MaxReply: 32})
			if err == nil && !bytes.Equal(result, pattern(0, 5000)) {
				t.Error("results differ")
			}
			return err
		}
		c := r.dial(cfg)
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Fatal(err)
		}
		conn := wait(t, r.program.conns)
		faults.SetWork(faultnet.Work{NoMemory: 1})
		if err := read(c); err == nil {
			t.Errorf("%v: no error", d)
		}
		wait(t, c.Done())
		wait(t, conn.Done())
		if s := conn.Stats(); s.ErrorsSent != 0 || s.TooLong != 0 {
			t.Errorf("%v: an error was sent: %+v", d, s)
		}
		faults.SetWork(faultnet.Work{})
		if err := read(r.dial(cfg)); err != nil {
			t.Errorf("%v: over another connection: %v", d, err)
		}
	}
}

// TestNoMemoryForReceives: a client for whose first receives the provider has no memory is refused.
// That is counted, and logged aloud once for each host.
func TestNoMemoryForReceives(t *testing.T) {
	l, d := providers["loopback"](t)
	faults := faultnet.NewProvider(faultnet.ProviderConfig{Work: faultnet.Work{NoMemory: 1}})
	l, _ = transporttest.Device(faults.Listener(l), nil)
	var counters rpcrdma.Counters
	var log bytes.Buffer
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	served := make(chan error, 1)
	go func() {
		served <- rpcrdma.Serve(t.Context(), l, s, rpcrdma.Config{
			Counters: &counters, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
	}()
	const times = 10
	for range times {
		_, err := rpcrdma.Dial(t.Context(), d, rigAddr, rpcrdma.Config{Logger: quiet})
		if reject := new(transport.RejectError); !errors.As(err, &reject) {
			t.Errorf("dialled: %v, want a RejectError", err)
		}
	}
	s.Close()
	wait(t, served)
	if got := counters.Totals(); got.Refused != times || len(got.Conns) > 0 {
		t.Errorf("%d connections refused of %+v, want %d and none", got.Refused, got.Conns, times)
	}
	if got := strings.Count(log.String(), "connection refused"); got != 1 {
		t.Errorf("logged %d times, want once:\n%s", got, &log)
	}
}
