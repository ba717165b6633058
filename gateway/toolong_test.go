package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestTooLong: a call that is too long, or whose reply does not fit, is answered with SYSTEM_ERR,
// and other calls go on.
func TestTooLong(t *testing.T) {
	var log lines
	dial := overRDMA(t, gateServer(newGate()), rpcrdma.Config{MaxMessage: 128 << 10})
	g := start(t, Config{Dial: dial, MaxReply: 8 << 10, Logger: slog.New(slog.NewTextHandler(&log, nil))}, recordmark.Config{})
	c := oncrpc.NewClient(dialTCP(t, g.addr), testProgram, 1, oncrpc.AuthNone())
	give := func(n uint32, args ...uint32) error {
		res := given(n)
		return c.Call(limited(t), 2, append(words{n}, args...), &res)
	}
	if err := give(8 << 10); err != nil {
		t.Error(err)
	}
	for range 3 {
		var accept *oncrpc.AcceptError
		if err := give(20 << 10); !errors.As(err, &accept) || accept.Stat != oncrpc.SystemErr {
			t.Errorf("reply of 20 KiB: got %v", err)
		}
		if err := give(1, make([]uint32, 40<<10)...); !errors.As(err, &accept) || accept.Stat != oncrpc.SystemErr {
			t.Errorf("call of 160 KiB: got %v", err)
		}
	}
	if err := give(3); err != nil {
		t.Error(err)
	}
	if got := log.count("\n"); got != 1 {
		t.Errorf("%d lines were logged, want 1", got)
	}
}

// given are results of so many bytes.
type given uint32

func (n *given) ReplyRoom(results [][]byte) (int, [][]byte) {
	return 4 + xdr.RoundUp(int(*n)), results
}

func (n *given) UnmarshalXDR(d *xdr.Decoder) {
	if got := len(d.Opaque(1 << 30)); got != int(*n) {
		d.Fail(fmt.Errorf("%d bytes", got))
	}
}
