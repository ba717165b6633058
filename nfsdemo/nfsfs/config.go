package nfsfs

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Config configures an FS. The zero value is usable, and in each field zero means the default. New
// panics, with a *oncrpc.ConfigError, if a value is out of range.
type Config struct {
	// Export is the path of the root on the server: symbolic links that lead to
	// absolute paths below it are followed. "" is no path: none are.
	Export string
	// TransferSize is the bytes of one READ or WRITE, 1 or more; 0 means 1 MiB. It is lowered to
	// what the server can do.
	TransferSize int
	// Parallel is how many READs or WRITEs of one file are under way, from 1 to MaxParallel; 0
	// means 8.
	Parallel int
	// MaxUncommitted is how many bytes of a file, 1 or more, may be written and not committed; they
	// are kept in memory to be written again should the server lose them. 0 means 64 MiB.
	MaxUncommitted int
	// Pace, if set, is called before each READ of File.WriteTo, with the bytes that it is to bring.
	// It may wait, until ctx, that of the file, ends. Its error becomes that of the READ. Files,
	// and READs of one, call it concurrently.
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

// settle fills in the defaults. It panics if a value is out of range.
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
