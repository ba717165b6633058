package remote

import (
	"errors"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
)

// ExportsBelow returns, sorted, what a server exports below a URL that it refused to mount.
func (w *Work) ExportsBelow(url string, refused error) []string {
	t, err := reach.ParseTarget(url)
	if err != nil || !errors.As(refused, new(mount3.Status)) {
		return nil
	}
	list, err := w.Remotes.Exports(w.Ctx(), url)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list {
		if strings.HasPrefix(e.Path, strings.TrimRight(t.Path, "/")+"/") {
			names = append(names, e.Path)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
