package copying

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// holeSize is the smallest size and the alignment of holes, in bytes: a page, or a block of most
// file systems.
const holeSize = 4096

var zeros [holeSize]byte

// eachRun calls yield with each run of blocks of p that are not all zeros. p begins at offset off
// of a file.
func eachRun(p []byte, off int64, yield func(p []byte, off int64) error) error {
	for len(p) > 0 {
		skip := 0
		for skip < len(p) {
			n := blockLen(p[skip:], off+int64(skip))
			if !bytes.Equal(p[skip:skip+n], zeros[:n]) {
				break
			}
			skip += n
		}
		p, off = p[skip:], off+int64(skip)
		run := 0
		for run < len(p) {
			n := blockLen(p[run:], off+int64(run))
			if bytes.Equal(p[run:run+n], zeros[:n]) {
				break
			}
			run += n
		}
		if run > 0 {
			if err := yield(p[:run], off); err != nil {
				return err
			}
		}
		p, off = p[run:], off+int64(run)
	}
	return nil
}

// blockLen returns how many bytes of p are in its first block.
func blockLen(p []byte, off int64) int { return int(min(int64(len(p)), holeSize-off%holeSize)) }

// holeWriter leaves out blocks of zeros. Its user must set the size of the file at the end.
type holeWriter struct {
	w   io.WriterAt
	off int64
}

func (h *holeWriter) Write(p []byte) (int, error) {
	err := eachRun(p, h.off, func(p []byte, off int64) error {
		_, err := h.w.WriteAt(p, off)
		return err
	})
	if err != nil {
		return 0, err
	}
	h.off += int64(len(p))
	return len(p), nil
}

// extent is a run of bytes of a file.
type extent struct{ from, to int64 }

// sparsePiece is how many bytes of a file with holes are read at a time, and sparseParallel how
// many of these are under way.
const (
	sparsePiece    = 1 << 20
	sparseParallel = 8
)

// putSparse copies the data of a file from start on, without holes and zeros. It returns the size
// of the file, or less if the file has become shorter.
func (c *copier) putSparse(
	ctx context.Context, to io.WriterAt, from *os.File, name string, start, size int64,
) (int64, error) {
	end := atomic.Int64{}
	end.Store(size)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sparseParallel)
	told := start // the bar has counted up to here
	for x, err := range extentsOf(from, size) {
		if err != nil {
			g.Go(func() error { return words.About(name, err) })
			break
		}
		if x.from = max(x.from, start); x.from >= x.to {
			continue
		}
		c.bar.Skip(x.from - told)
		told = x.to
		for off := x.from; off < x.to && ctx.Err() == nil; off += sparsePiece {
			g.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				p := make([]byte, min(sparsePiece, x.to-off))
				n, err := from.ReadAt(p, off)
				if errors.Is(err, io.EOF) { // the file has become shorter
					lower(&end, off+int64(n))
					err = nil
				}
				if err != nil {
					return words.About(name, err)
				}
				c.moved(n)
				return eachRun(p[:n], off, func(p []byte, off int64) error {
					if err := c.pace.waitFor(ctx, len(p)); err != nil {
						return err
					}
					_, err := to.WriteAt(p, off)
					return err
				})
			})
		}
	}
	c.bar.Skip(size - told)
	err := g.Wait()
	return end.Load(), err
}

// lower sets n to to, if that is less.
func lower(n *atomic.Int64, to int64) {
	for {
		was := n.Load()
		if was <= to || n.CompareAndSwap(was, to) {
			return
		}
	}
}
