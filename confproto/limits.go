package confproto

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

const (
	// DefaultSize is the size of messages in bytes that either side asks for, or agrees to, unless
	// told otherwise.
	DefaultSize = 32768
	// MinSize is the least size of messages in bytes: what every connection has from the beginning
	// (draft section 6.1). Whoever names less is taken to mean this.
	MinSize = rpcrdma.DefaultInline
	// MaxSize is the largest size of messages in bytes that this side sends or expects. More than
	// that is taken for this.
	MaxSize = rpcrdma.MaxInline
	// maxReads is more RDMA Reads than any endpoint has under way. rpcrdma knows how many this one
	// can have.
	maxReads = 1 << 16
	// minAlign is the least alignment that asks for anything: XDR has a multiple of four bytes
	// everywhere.
	minAlign = 8
)

// sizeOf is the size that a peer has named, as this side observes it.
func sizeOf(n uint32) int { return int(min(max(n, MinSize), MaxSize)) }

// readsOf is the number of Reads that a peer has named, as this side observes it.
func readsOf(n uint32) int { return int(min(n, maxReads)) }

// alignOf is the alignment that a server has named, as the client observes it who sends it messages
// of up to size bytes. The client MAY use the value (draft section 6.2): he does not if it is no
// power of two, or if no message is so long that it could be kept.
func alignOf(n uint32, size int) int {
	if n < minAlign || n&(n-1) != 0 || int64(n) > int64(size) {
		return 0
	}
	return int(n)
}

// configured is a size of this side's configuration. It fails with a *oncrpc.ConfigError.
func configured(config, field string, n int) (int, error) {
	if n == 0 {
		return DefaultSize, nil
	}
	if n < MinSize || n > MaxSize {
		want := fmt.Sprintf("from %d to %d", MinSize, MaxSize)
		return 0, &oncrpc.ConfigError{Config: "confproto." + config, Field: field, Value: n, Want: want}
	}
	return n, nil
}
