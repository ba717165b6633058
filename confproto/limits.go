package confproto

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

const (
	// DefaultSize is the default of message sizes in Config and Options, in bytes.
	DefaultSize = 32768
	// MinSize is the smallest message size in bytes. Every connection has it from the beginning
	// (draft section 6.1). Smaller values of a peer count as MinSize.
	MinSize = rpcrdma.DefaultInline
	// MaxSize is the largest message size in bytes. Larger values of a peer count as MaxSize.
	MaxSize = rpcrdma.MaxInline
	// maxReads is more RDMA Reads than any endpoint has under way. Package rpcrdma applies the
	// limit of the endpoint.
	maxReads = 1 << 16
	// minAlign is the smallest useful alignment: XDR aligns everything to four bytes.
	minAlign = 8
)

// sizeOf returns the size to use when a peer has named n.
func sizeOf(n uint32) int { return int(min(max(n, MinSize), MaxSize)) }

// readsOf returns the number of Reads to use when a peer has named n.
func readsOf(n uint32) int { return int(min(n, maxReads)) }

// alignOf returns the alignment to use when a server has named n and messages have up to size
// bytes. The client MAY use the value (draft section 6.2). It does not if n is not a power of two,
// or longer than any message.
func alignOf(n uint32, size int) int {
	if n < minAlign || n&(n-1) != 0 || int64(n) > int64(size) {
		return 0
	}
	return int(n)
}

// configured returns a size of this side's configuration, or the default for 0. It fails with a
// *oncrpc.ConfigError.
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
