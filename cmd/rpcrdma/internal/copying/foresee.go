package copying

import (
	"context"
	"path"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// foresee tells the bar how much there is to copy in directories, before the copy gets there. It
// ignores errors, which the copy will report.
func foresee(ctx context.Context, bar *cli.Bar, items []Item) {
	for i := range items {
		if f := &items[i]; f.mode.IsDir() {
			foreseeIn(ctx, bar, f.from, f.name, 0)
		}
	}
	if ctx.Err() == nil {
		bar.Complete()
	}
}

func foreseeIn(ctx context.Context, bar *cli.Bar, from place, name string, depth int) {
	for one, err := range from.list(ctx, name) {
		switch {
		case ctx.Err() != nil, depth > remote.MaxDepth:
			return
		case err != nil:
		case one.mode.IsDir():
			foreseeIn(ctx, bar, from, path.Join(name, one.name), depth+1)
		default:
			bar.Grow((&Item{details: one}).bytes())
		}
	}
}
