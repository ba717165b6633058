package rpcrdma_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// logTo returns a logger of all levels, and its lines.
func logTo() (*slog.Logger, logLines) {
	lines := make(logLines, 1000)
	return slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})), lines
}

// wantLine checks that the next line of the log has all of these, and that it is at WARN if it is
// the first of its kind, otherwise at DEBUG.
func (l logLines) wantLine(t *testing.T, first bool, want ...string) {
	t.Helper()
	line := wait(t, l)
	level := "level=DEBUG"
	if first {
		level = "level=WARN"
	}
	for _, w := range append(want, level) {
		if !strings.Contains(line, w) {
			t.Errorf("the log says %q, and not %q", line, w)
		}
	}
}

// TestFaultsOnce checks how a server logs malformed messages: the first of a kind at WARN, so that
// a peer cannot fill the log.
func TestFaultsOnce(t *testing.T) {
	const large = rpcrdma.MaxInline // the maximum here
	long := lists(rdmaMsg, readWords(40, large+1), none)
	source := func(xid uint32) []byte { return callBytes(xid, procSource, &source{1, 101}) }
	for _, tt := range []struct {
		name string
		msg  func(xid uint32) []byte
		want []string // the first: how the line begins
	}{
		{"header", head(77), []string{"message refused", "malformed header", "rdma_proc 77"}},
		{"version", headOf(2, rdmaMsg), []string{"message refused", "version not supported"}},
		{"call", withCall(lists(rdmaMsg, readWords(41, 4), none)),
			[]string{"call refused", "position 41"}},
		{"too long", withCall(long), []string{"call refused",
			"call of more than the 65536 bytes allowed", "read chunks of more than 65536 bytes"}},
		{"too short", head(rpcrdma.TypeError), []string{"message ignored", "malformed header"}},
		{"result", with(lists(rdmaMsg, writeChunk(segWords(100))), source, 0),
			[]string{"reply refused", "bulk data of [101]", "write chunks of [100]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			logger, lines := logTo()
			p := newRig(t, rpcrdma.Config{Logger: logger, MaxMessage: large}).raw(inline4k)
			for i := range 5 {
				p.sendBytes(tt.msg(9))
				if tt.want[0] != "message ignored" {
					p.next()
				}
				lines.wantLine(t, i == 0, append(tt.want, "xid=9", "peer=")...)
			}
			p.alive()
			if len(lines) > 0 {
				t.Errorf("the log goes on: %q", <-lines)
			}
		})
	}
}

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

// TestFaultLines: a connection lost for one reason does not hide one lost for another.
func TestFaultLines(t *testing.T) {
	logger, lines := logTo()
	reasons := make(chan error, 1)
	wrap := func(ep transport.Endpoint) transport.Endpoint { return lostEndpoint{ep, <-reasons} }
	r := newRigOn(t, rpcrdma.Config{Logger: logger}, loopback.Config{}, wrap)
	for _, reason := range []error{
		rpcrdma.ErrStalled, rpcrdma.ErrCreditsExceeded, transport.ErrTerminated, io.ErrUnexpectedEOF,
	} {
		for _, first := range []bool{true, false} {
			reasons <- reason
			p := r.raw(inline4k)
			p.alive()
			p.ep.Close()
			lines.wantLine(t, first, "rpcrdma: connection lost", "peer=192.0.2.1:7", reason.Error())
		}
	}
}

// TestPeerError: what an RDMA_ERROR means is in the error's text.
func TestPeerError(t *testing.T) {
	for want, err := range map[string]rpcrdma.PeerError{
		"ERR_VERS: it speaks versions 2 to 3":          {Code: rpcrdma.ErrVers, Low: 2, High: 3},
		"ERR_CHUNK: it did not understand the message": {Code: rpcrdma.ErrChunk},
		"rpc_rdma_errcode 3":                           {Code: 3},
	} {
		got := strings.TrimPrefix(err.Error(), "peer answered RDMA_ERROR: ")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q does not begin with %q", got, want)
		}
	}
}
