package rpcrdma_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

func firstRead(h *rpcrdma.Header) chunks.Segment  { return h.Reads[0].Segment }
func firstWrite(h *rpcrdma.Header) chunks.Segment { return h.Writes[0][0] }
func firstReply(h *rpcrdma.Header) chunks.Segment { return h.Reply[0] }

// TestWindowRights: a server writes to read chunks and reads write chunks of a call. Both are
// refused (rfc5042-6.3.5-1).
func TestWindowRights(t *testing.T) {
	const size = 9000
	for _, tt := range []struct {
		name   string
		result bool // the result has a buffer
		op     transport.Op
		chunk  func(h *rpcrdma.Header) chunks.Segment
	}{
		{"read chunk", false, transport.OpWrite, firstRead},
		{"write chunk", true, transport.OpRead, firstWrite},
		{"reply chunk", false, transport.OpRead, firstReply},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := rawServer(t, rpcrdma.Config{}, inline4k)
			args := pattern(1, size)
			var result []byte
			if tt.result {
				result = make([]byte, size)
			}
			s := start(t.Context(), c, &items{data: [][]byte{args}}, result)
			h, _ := p.next()
			p.reach(c, tt.chunk(h), tt.op, transport.ErrAccess)
			if wait(t, s.err) == nil {
				t.Error("the call has a reply")
			}
			if !bytes.Equal(args, pattern(1, size)) {
				t.Error("the arguments were written to")
			}
		})
	}
}
