package copying

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// noRoom are the files for which there was no room. A large one may have taken that from the others
// until it failed itself, so they are tried once more when all is through.
type noRoom struct {
	mu    sync.Mutex // guards what follows
	items []unfit
}

// unfit is a file for which there was no room, and the error that says so.
type unfit struct {
	*Item
	why error
}

// mostUnfit bounds how many files are tried once more.
const mostUnfit = 1 << 16

// postpone reports whether a file is to be tried once more, because there was no room for it.
func (n *noRoom) postpone(f *Item, err error) bool {
	if !words.IsNoRoom(err) || errors.As(err, new(*words.LeftError)) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.items) == mostUnfit {
		return false
	}
	n.items = append(n.items, unfit{f, err})
	return true
}

// retry copies the files for which there was no room, the smallest first. When one of them has none
// again, the larger ones have none either.
func (w *walk) retry(ctx context.Context) error {
	slices.SortStableFunc(w.noRoom.items, func(a, b unfit) int { return cmp.Compare(a.size, b.size) })
	for i, f := range w.noRoom.items {
		free := w.room(ctx, f.Item)
		if f.size < largeFile || free < 0 || f.size <= free {
			f.why = w.one(ctx, f.Item)
		}
		if words.IsNoRoom(f.why) {
			if about := new(words.AboutError); errors.As(f.why, &about) {
				f.why = about.Err
			}
			return w.refuse(ctx, w.noRoom.items[i:], &words.NoRoomError{Err: f.why, Needed: f.size, Free: free})
		}
		if err := w.through(ctx, f.Item, f.why); err != nil {
			return err
		}
	}
	return nil
}

// room returns how many bytes there is room for where a file goes, -1 if that is not known.
func (w *walk) room(ctx context.Context, f *Item) int64 {
	free, err := f.to.free(ctx, path.Dir(f.as))
	if err != nil {
		return -1
	}
	return free
}

// refuse reports the files for which there is no room: why for the first, and of the others how
// many.
func (w *walk) refuse(ctx context.Context, items []unfit, why error) error {
	if err := w.through(ctx, items[0].Item, words.About(items[0].to.show(items[0].as), why)); err != nil {
		return err
	}
	more := int64(0)
	for _, f := range items[1:] {
		more += f.size
		w.bar.Copied()
		if err := w.done(ctx, f.dir); err != nil {
			return err
		}
	}
	if n := len(items) - 1; n > 0 {
		w.failed.Add(int64(n))
		fmt.Fprintf(w.bar, "rpcrdma %s: for %d larger files there is no room either: %s\n", w.verb, n, cli.Bytes(more))
	}
	return nil
}
