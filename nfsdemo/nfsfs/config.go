package nfsfs

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Config configures an FS. The zero value is usable, and a field that is zero has its default. New
// panics with an *oncrpc.ConfigError if a value is out of range.
type Config struct {
	// Export is the path of the root on the server. Symbolic links to absolute paths below it are
	// followed. "" means that no links to absolute paths are followed.
	Export string
	// TransferSize is the bytes of one READ or WRITE, 1 or more; 0 means 1 MiB. The server's limit
	// applies if it is lower.
	TransferSize int
	// Parallel is how many READs or WRITEs of one file may be under way, from 1 to MaxParallel; 0
	// means 8.
	Parallel int
	// MaxUncommitted is how many bytes of a file may be written but not committed, 1 or more; 0
	// means 64 MiB. They are kept in memory, to be written again if the server loses them.
	MaxUncommitted int
	// Pace, if set, is called before each READ of File.WriteTo, with the bytes that it will read.
	// It may wait to limit the rate, until ctx, the file's context, ends. If it returns an error,
	// the READ fails with it. It is called concurrently.
	Pace func(ctx context.Context, bytes int) error
}

// MaxParallel is the largest Config.Parallel.
const MaxParallel = 4096

// The defaults.
const (
	defaultSize        = 1 << 20
	defaultParallel    = 8
	defaultUncommitted = 64 << 20
)

// settle fills in defaults. It panics if a value is out of range.
func (c *Config) settle() {
	settle("TransferSize", &c.TransferSize, defaultSize, math.MaxInt, "1 or more")
	settle("Parallel", &c.Parallel, defaultParallel, MaxParallel,
		fmt.Sprintf("from 1 to %d", MaxParallel))
	settle("MaxUncommitted", &c.MaxUncommitted, defaultUncommitted, math.MaxInt, "1 or more")
}

func settle(field string, n *int, byDefault, most int, want string) {
	if *n < 0 || *n > most {
		panic(&oncrpc.ConfigError{Config: "nfsfs.Config", Field: field, Value: *n, Want: want})
	}
	*n = cmp.Or(*n, byDefault)
}
