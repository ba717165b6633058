package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
)

// exportList is a URL of a directory that is not exported, and what is exported below it.
type exportList struct {
	url   string
	names []string
}

// exportsBelow returns, sorted, what a server exports below a URL that it refused to mount.
func (w *work) exportsBelow(url string, refused error) []string {
	t, err := parseTarget(url)
	if err != nil || !errors.As(refused, new(mount3.Status)) {
		return nil
	}
	list, err := w.remotes.exports(w.ctx(), url)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list {
		if strings.HasPrefix(e.Path, strings.TrimRight(t.path, "/")+"/") {
			names = append(names, e.Path)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
