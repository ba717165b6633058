package rpcrdma_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestChunkFrom: data that fits inline travels by chunk from that length on, and the handler and
// the caller get the same bytes.
func TestChunkFrom(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cfg       rpcrdma.Config
		size      int
		read, wrt int // bytes by chunk
	}{
		{"unset", rpcrdma.Config{}, 1000, 0, 0},
		{"below", rpcrdma.Config{ChunkFrom: 1001}, 1000, 0, 0},
		{"from there on", rpcrdma.Config{ChunkFrom: 1000}, 1000, 1000, 1000},
		{"the shortest", rpcrdma.Config{ChunkFrom: 1}, 1, 1, 1},
		{"nothing", rpcrdma.Config{ChunkFrom: 1}, 0, 0, 0},
		{"in the draft's dialect, which would pad it", rpcrdma.Config{ChunkFrom: 1000, Dialect: rpcrdma.Draft, PeerAlign: 64}, 1000, 1000, 1000},
		{"no chunks for replies", rpcrdma.Config{ChunkFrom: 1000, Dialect: rpcrdma.Draft, NoReplyChunks: true}, 1000, 1000, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info := new(lastInfo)
			r := newRig(t, rpcrdma.Config{Dialect: tt.cfg.Dialect})
			tt.cfg.Observer = info
			c := client(r.dial(tt.cfg))
			want := pattern(1, tt.size)
			args := &items{data: [][]byte{want}, tail: 7}
			got := &items{data: [][]byte{make([]byte, tt.size)}, land: true}
			err := c.Do(context.Background(), &oncrpc.Request{Procedure: procEcho, Args: args, Reply: got, MaxReply: args.len(), Results: got.data})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.data[0], want) || got.tail != 7 {
				t.Error("other bytes came back")
			}
			if info.ReadChunk != tt.read || info.WriteChunk != tt.wrt || info.InlineSent == 0 || info.InlineReceived == 0 {
				t.Errorf("got %+v, want %d by read chunk, %d by write chunk, the rest inline", info.CallInfo, tt.read, tt.wrt)
			}
		})
	}
}
