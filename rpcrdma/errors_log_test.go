package rpcrdma_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// logTo returns a logger of all levels, and its lines.
func logTo() (*slog.Logger, logLines) {
	lines := make(logLines, 1000)
	return slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})), lines
}

// wantLine checks that the next line of the log has all of these.
func (l logLines) wantLine(t *testing.T, want ...string) {
	t.Helper()
	line := wait(t, l)
	for _, w := range want {
		if !strings.Contains(line, w) {
			t.Errorf("the log says %q, and not %q", line, w)
		}
	}
}

// loud returns how many lines are at level WARN or above.
func (l logLines) loud() (n int) {
	for len(l) > 0 {
		if line := <-l; strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			n++
		}
	}
	return n
}

// TestFaultsOfReplies checks how a client logs bad replies: the first of a kind at WARN.
func TestFaultsOfReplies(t *testing.T) {
	for _, tt := range []struct {
		name string
		msg  func(xid uint32) []byte
		want []string
	}{
		{"header", head(77), []string{"reply malformed", "malformed header", "rdma_proc 77"}},
		{"version", headOf(2, rpcrdma.TypeMsg), []string{"reply of another version", "version not supported"}},
		{"chunks", withReply(head(rpcrdma.TypeMsg, cat([]uint32{0, 1, 1}, segWords(4), []uint32{0, 0})...)), []string{"reply malformed", "1 write chunks returned of 0"}},
		{"read list", withReply(head(rpcrdma.TypeMsg, cat(readWords(24, 4), []uint32{0, 0, 0})...)), []string{"reply malformed", "the peer speaks the draft's dialect"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			logger, lines := logTo()
			c, p := rawServer(t, rpcrdma.Config{Logger: logger}, inline4k)
			for i := range 5 {
				s := start(context.Background(), c, &items{}, nil)
				h, _ := p.next()
				p.sendBytes(tt.msg(h.XID))
				err := wait(t, s.err)
				var op *rpcrdma.OpError
				if !errors.As(err, &op) || op.Op != "call" || op.Peer != c.RemoteAddr() {
					t.Errorf("error %v, want an OpError of the call with the peer's address", err)
				}
				level := "level=DEBUG"
				if i == 0 {
					level = "level=WARN"
				}
				lines.wantLine(t, append(tt.want, level, "peer="+c.RemoteAddr().String())...)
			}
			callAnswered(t, c, p)
			if len(lines) > 0 {
				t.Errorf("the log goes on: %q", <-lines)
			}
		})
	}
}

// TestFaultsOfResults checks how a server logs results that do not fit.
func TestFaultsOfResults(t *testing.T) {
	logger, lines := logTo()
	r := newRig(t, rpcrdma.Config{Logger: logger})
	p := r.raw(inline4k)
	for i := range 3 {
		h := header(9, rpcrdma.TypeMsg)
		h.AddWrite([]chunks.Segment{p.expose(make([]byte, 100), transport.RemoteWrite)})
		p.send(h, callBytes(9, procSource, &source{1, 101}))
		if got := p.nextBytes(); string(got) != string(errChunk(9, 32)) {
			t.Errorf("answer %x", got)
		}
		level := "level=DEBUG"
		if i == 0 {
			level = "level=WARN"
		}
		lines.wantLine(t, "reply refused", level, "xid=9", "bulk data of [101]", "write chunks of [100]")
	}
}

// TestFaultsOfLongCalls checks that a server logs the limit that a call exceeds.
func TestFaultsOfLongCalls(t *testing.T) {
	logger, lines := logTo()
	r := newRig(t, rpcrdma.Config{Logger: logger, MaxMessage: rpcrdma.MaxInline})
	p := r.raw(inline4k)
	for _, list := range [][]uint32{readWords(0, rpcrdma.MaxInline+1), cat(readWords(0, rpcrdma.MaxInline), readWords(100, 1))} {
		p.sendBytes(head(rpcrdma.TypeNoMsg, cat(list, []uint32{0, 0, 0})...)(9))
		if got := p.nextBytes(); string(got) != string(errChunk(9, 32)) {
			t.Errorf("answer %x", got)
		}
		lines.wantLine(t, "call refused", "xid=9", "call of more than the 65536 bytes allowed", "read chunks of more than 65536 bytes")
	}
}

// TestStraysAreQuiet sends replies that match no call, again and again. They are logged only at
// DEBUG.
func TestStraysAreQuiet(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		logger, lines := logTo()
		r := newRig(t, rpcrdma.Config{Dialect: d, Logger: logger})
		p := r.raw(inline4k)
		for _, msg := range [][]byte{errChunk(9, 1), errVers(9, 1), head(rpcrdma.TypeDone)(9), withReply(head(rpcrdma.TypeMsg, 0, 0, 0))(9)} {
			for range 100 {
				p.sendBytes(msg)
			}
		}
		p.alive()
		if n := lines.loud(); n > 0 {
			t.Errorf("%v: %d lines aloud", d, n)
		}
	}
}

// TestLongCallsCutOff: a client goes away while the server reads its long calls. The calls are not
// logged at WARN.
func TestLongCallsCutOff(t *testing.T) {
	logger, lines := logTo()
	r := newRig(t, rpcrdma.Config{Logger: logger})
	ep, conn := r.deafPeer()
	for xid := range uint32(20) {
		shout(t, ep, head(rpcrdma.TypeNoMsg, cat(readWords(0, 5000), []uint32{0, 0, 0})...)(100+xid))
	}
	waitFor(t, func() bool { return conn.Stats().CallsReceived == 21 })
	ep.Close()
	ended(t, conn)
	if n := lines.loud(); n > 0 {
		t.Errorf("%d lines aloud, want none", n)
	}
}
