package rpcrdma

import (
	"errors"
	"fmt"
	"net"
	"strings"
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

// TestFaultsOfComers has one host come again and again, and be at fault each time: the log is told aloud once of each of its faults.
func TestFaultsOfComers(t *testing.T) {
	logger, lines := logTo()
	r, dial := newWireRig(t, Config{Credits: 4, Logger: logger})
	for range 10 {
		p := dial()
		p.alive()
		conn := wait(t, r.program.conns)
		p.sendBytes(head(77)(9))
		p.next()
		call := append(header(1, TypeMsg).Append(nil), callBytes(1, procBlock, &items{})...)
		p.burst(call, call, call, call, call)
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, ErrExceeded) {
			t.Errorf("ended with %v, want ErrExceeded", err)
		}
	}
	seen, loud := map[string]int{}, map[string]int{}
	for seen["message refused"] < 10 || seen["connection lost"] < 10 {
		line := wait(t, lines)
		for _, what := range []string{"message refused", "connection lost"} {
			if strings.Contains(line, what) && strings.Contains(line, "peer=127.0.0.1:") {
				seen[what]++
				if strings.Contains(line, "level=WARN") {
					loud[what]++
				}
			}
		}
	}
	if loud["message refused"] != 1 || loud["connection lost"] != 1 {
		t.Errorf("aloud: %v, want each once", loud)
	}
}

// TestFaultsOfBadChunks has one host come again and again with a long call that cannot be read.
func TestFaultsOfBadChunks(t *testing.T) {
	logger, lines := logTo()
	r, dial := newWireRig(t, Config{Logger: logger})
	for range 5 {
		p := dial()
		p.alive()
		conn := wait(t, r.program.conns)
		p.sendBytes(head(TypeNoMsg, 1, 0, 0xdead, 100, 0, 0, 0, 0, 0)(9))
		ended(t, conn)
	}
	for aborted, loud := 0, 0; aborted < 5; {
		line := wait(t, lines)
		if !strings.Contains(line, "call aborted") {
			continue
		}
		aborted++
		if strings.Contains(line, "level=WARN") {
			loud++
		}
		if aborted == 5 && loud != 1 {
			t.Errorf("%d of 5 aloud, want 1", loud)
		}
	}
}
