package copying

import (
	"context"
	"path"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// foresee tells the bar how much there is to copy in directories, long before the copy has come
// there. What cannot be read is passed over: the copy says what is wrong.
func (c *copier) foresee(ctx context.Context, items []Item) {
	for i := range items {
		if f := &items[i]; f.mode.IsDir() {
			c.foreseeIn(ctx, f.from, f.name, 0)
		}
	}
	if ctx.Err() == nil {
		c.bar.Complete()
	}
}

func (c *copier) foreseeIn(ctx context.Context, from place, name string, depth int) {
	for one, err := range from.list(ctx, name) {
		switch {
		case ctx.Err() != nil, depth > remote.MaxDepth:
			return
		case err != nil:
		case one.mode.IsDir():
			c.foreseeIn(ctx, from, path.Join(name, one.name), depth+1)
		default:
			c.bar.Grow((&Item{details: one}).bytes())
		}
	}
}
