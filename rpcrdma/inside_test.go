package rpcrdma

import (
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// What follows is for tests inside the package; those outside have their own.

const testProgram = 400_000

var quiet = slog.New(slog.DiscardHandler)

type logLines chan string

func (l logLines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

func logTo() (*slog.Logger, logLines) {
	lines := make(logLines, 1000)
	return slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})), lines
}

func (l logLines) wantLine(t *testing.T, want ...string) {
	t.Helper()
	line := wait(t, l)
	for _, w := range want {
		if !strings.Contains(line, w) {
			t.Errorf("the log says %q, and not %q", line, w)
		}
	}
}

func wait[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing happened")
		panic("unreachable")
	}
}

func pattern(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, (n+7)&^7)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
	return p[:n:n]
}

func scribble(p []byte) {
	for i := range p {
		p[i] = 0x55
	}
}

func header(xid uint32, typ Type) *Header {
	return &Header{XID: xid, Version: ProtocolVersion, Credits: 32, Type: typ}
}

func callMessage(xid, proc uint32, args oncrpc.Marshaler) xdr.Message {
	var e xdr.Encoder
	h := oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram, Version: 1, Procedure: proc}
	h.Encode(&e)
	if args != nil {
		args.MarshalXDR(&e)
	}
	return e.Message()
}

// padded lays out an RDMA_MSGP, written independently of package xdr: data of least bytes or more is moved, with fill in front of it.
func padded(h *Header, m *xdr.Message, without []bool, least int, fill byte) []byte {
	b := h.Append(nil)
	inline, pos := m.Inline, 0
	for i, it := range m.Bulk {
		b = append(b, inline[:it.Position-pos]...)
		inline = inline[it.Position-pos:]
		pos = it.Position + (it.Len+3)/4*4
		if i < len(without) && without[i] {
			continue
		}
		if it.Len >= least {
			for h.Align > 0 && len(b)%int(h.Align) != 0 {
				b = append(b, fill)
			}
		}
		for _, p := range it.Data {
			b = append(b, p...)
		}
		b = append(b, make([]byte, (4-it.Len%4)%4)...)
	}
	return append(b, inline...)
}
