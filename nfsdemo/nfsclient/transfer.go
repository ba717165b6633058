package nfsclient

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Transfer says how Upload and Download move data. The zero value is usable. They take
// Size times Parallel bytes of memory.
type Transfer struct {
	// Size is the bytes of one READ or WRITE, not negative; 0 means 1 MiB. It is lowered to
	// what the server can do.
	Size int
	// Parallel is how many are under way, at most MaxParallel; 0 means 8.
	Parallel int
	// Progress, if set, is told of each run of bytes that has arrived. It is not called
	// concurrently.
	Progress func(n int)
}

// MaxParallel is the largest Transfer.Parallel.
const MaxParallel = 4096

// settle fills in the defaults; limit picks that of the server.
func (t *Transfer) settle(ctx context.Context, c *Client, h nfs3.FH, limit func(*nfs3.FSInfo) uint32) error {
	if t.Size < 0 {
		return fmt.Errorf("nfs: transfers of %d bytes", t.Size)
	}
	if t.Parallel < 0 || t.Parallel > MaxParallel {
		return fmt.Errorf("nfs: %d transfers at a time: at most %d are possible", t.Parallel, MaxParallel)
	}
	info, err := c.FSInfo(ctx, h)
	if err != nil {
		return err
	}
	t.Size = cmp.Or(t.Size, 1<<20)
	if n := limit(&info); n > 0 {
		t.Size = int(min(uint64(t.Size), uint64(n)))
	}
	t.Parallel = cmp.Or(t.Parallel, 8)
	if t.Progress == nil {
		t.Progress = func(int) {}
	}
	return nil
}

// buffer returns n bytes of memory, used again where there is some.
func (c *Client) buffer(n int) *[]byte {
	if b, _ := c.buffers.Get().(*[]byte); b != nil && cap(*b) >= n {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n)
	return &b
}
