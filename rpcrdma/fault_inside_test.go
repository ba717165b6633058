package rpcrdma

import (
	"fmt"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestFaultLines checks what the log says, and that a connection lost for one reason does not hide one lost for another.
func TestFaultLines(t *testing.T) {
	logger, lines := logTo()
	peer := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}
	c := &Conn{cfg: Config{Logger: logger}.withDefaults(), info: transport.Info{RemoteAddr: peer}}
	lost := func(reason error, level string) {
		t.Helper()
		c.logLoss(fmt.Errorf("it ended: %w", reason))
		lines.wantLine(t, level, "rpcrdma: connection lost", "peer=192.0.2.1:7", reason.Error())
	}
	for _, reason := range []error{ErrStalled, ErrExceeded, transport.ErrTerminated, net.ErrClosed} {
		lost(reason, "level=WARN")
		lost(reason, "level=DEBUG")
	}
	c.fault(&c.stats.malformed, "message refused", 9, ErrMalformed)
	lines.wantLine(t, "level=WARN", "rpcrdma: message refused", "peer=192.0.2.1:7", "xid=9", ErrMalformed.Error())
	if got := c.stats.malformed.Load(); got != 1 {
		t.Errorf("%d malformed messages are counted, want 1", got)
	}
}
