package pipe

import (
	"context"
	"encoding/binary"
	"log/slog"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// TestXID: a call has the XID that it names, or else a new one.
func TestXID(t *testing.T) {
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	c := New(s, Inline)
	seen := make(map[uint32]bool)
	for _, xid := range []uint32{0xfffffffe, 0, 0, 0xfffffffe} {
		var e xdr.Encoder
		// Program 1 is unavailable.
		(&oncrpc.CallHeader{RPCVersion: oncrpc.Version, Program: 1}).Encode(&e)
		x := &oncrpc.Exchange{Call: e.Message(), MaxReply: 100, XID: xid}
		if err := c.RoundTrip(context.Background(), x); err != nil {
			t.Fatal(err)
		}
		sent, answered := binary.BigEndian.Uint32(x.Call.Inline), x.Reply.Uint32()
		if sent != answered || xid != 0 && sent != xid || xid == 0 && seen[sent] {
			t.Errorf("xid %08x: %08x was sent, %08x answered", xid, sent, answered)
		}
		seen[sent] = true
		x.Release()
	}
}
