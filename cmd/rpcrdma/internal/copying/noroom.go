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

// noRoom are the files for which there was no room. They are tried once more at the end: a large
// file may have taken the room of others until it failed itself.
type noRoom struct {
	mu    sync.Mutex // guards what follows
	items []unfit
}

// unfit is a file for which there was no room, with the error.
type unfit struct {
	*Item
	why error
}

// mostUnfit bounds how many files are tried once more.
const mostUnfit = 1 << 16

// postpone notes a file for another try if there was no room for it, and reports whether it did.
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

// retry copies the files for which there was no room, the smallest first. It stops when one has no
// room again, because the others are larger.
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

// room returns how many bytes there is room for where a file goes, or -1 if unknown.
func (w *walk) room(ctx context.Context, f *Item) int64 {
	free, err := f.to.free(ctx, path.Dir(f.as))
	if err != nil {
		return -1
	}
	return free
}

// refuse reports the files for which there is no room: the first with the reason, and the number of
// the others.
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
		fmt.Fprintf(w.bar, "rpcrdma %s: no room for %d larger files either: %s\n", w.verb, n, cli.Bytes(more))
	}
	return nil
}
