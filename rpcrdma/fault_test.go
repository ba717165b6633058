package rpcrdma_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// lostEndpoint is an endpoint to one host that ends for a reason of the test's.
type lostEndpoint struct {
	transport.Endpoint
	reason error
}

func (e lostEndpoint) Info() transport.Info {
	info := e.Endpoint.Info()
	info.RemoteAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7}
	return info
}

func (e lostEndpoint) Err() error { return fmt.Errorf("it ended: %w", e.reason) }

// TestFaultLines checks what the log says, and that a connection lost for one reason does not hide
// one lost for another.
func TestFaultLines(t *testing.T) {
	logger, lines := logTo()
	reasons := make(chan error, 1)
	wrap := func(ep transport.Endpoint) transport.Endpoint { return lostEndpoint{ep, <-reasons} }
	r := newRigOn(t, rpcrdma.Config{Logger: logger}, loopback.Config{}, wrap)
	lost := func(reason error, level string) {
		t.Helper()
		reasons <- reason
		p := r.raw(inline4k)
		p.alive()
		p.ep.Close()
		lines.wantLine(t, level, "rpcrdma: connection lost", "peer=192.0.2.1:7", reason.Error())
	}
	for _, reason := range []error{rpcrdma.ErrStalled, rpcrdma.ErrCreditsExceeded, transport.ErrTerminated, io.ErrUnexpectedEOF} {
		lost(reason, "level=WARN")
		lost(reason, "level=DEBUG")
	}
	for len(r.program.conns) > 0 {
		<-r.program.conns
	}
	reasons <- io.EOF
	p := r.raw(inline4k)
	p.alive()
	p.sendBytes(head(77)(9))
	lines.wantLine(t, "level=WARN", "rpcrdma: message refused", "peer=192.0.2.1:7", "xid=9", rpcrdma.ErrMalformed.Error())
	if got := wait(t, r.program.conns).Stats().Malformed; got != 1 {
		t.Errorf("%d malformed messages are counted, want 1", got)
	}
}

// TestFaultsOfComers: one host connects again and again, with the same faults each time. Each fault
// is logged at WARN once.
func TestFaultsOfComers(t *testing.T) {
	logger, lines := logTo()
	r := newWireRig(t, rpcrdma.Config{Credits: 4, Logger: logger})
	for range 10 {
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		p.sendBytes(head(77)(9))
		p.next()
		call := append(header(1, rpcrdma.TypeMsg).Append(nil), callBytes(1, procBlock, &items{})...)
		p.burst(call, call, call, call, call)
		ended(t, conn)
		if err := conn.Err(); !errors.Is(err, rpcrdma.ErrCreditsExceeded) {
			t.Errorf("ended with %v, want ErrCreditsExceeded", err)
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

// TestFaultsOfBadChunks: one host connects again and again with a long call that cannot be fetched.
func TestFaultsOfBadChunks(t *testing.T) {
	logger, lines := logTo()
	r := newWireRig(t, rpcrdma.Config{Logger: logger})
	for range 5 {
		p := r.raw(inline4k)
		p.alive()
		conn := wait(t, r.program.conns)
		p.sendBytes(head(rpcrdma.TypeNoMsg, 1, 0, 0xdead, 100, 0, 0, 0, 0, 0)(9))
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
