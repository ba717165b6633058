package copying

import (
	"context"
	"path"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// dry checks a file as a copy would, and prints it, for --dry-run.
func (c *copier) dry(ctx context.Context, f *Item) error {
	there, err := c.existing(ctx, f)
	if err == nil && there != nil && there.mode.IsDir() {
		err = words.About(f.to.show(f.as), words.ErrOverDir)
	}
	if err == nil && there == nil && f.dir == nil {
		_, err = f.to.lstat(ctx, path.Dir(f.as)) // the target directory must exist
	}
	if err == nil {
		c.would(f.from.show(f.name), f.to.show(f.as))
	}
	return err
}
