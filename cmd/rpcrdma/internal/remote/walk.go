package remote

import (
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
)

// Walk visits all files of a tree.
type Walk struct {
	*Work
	Client *nfsclient.Client
	// Visit is called with a file, and with a directory twice: before what is in it, and after.
	// With files it is called concurrently.
	Visit func(e Entry, before bool) error
}

// From visits e and all below it. It reports what fails, and returns an error only if the command
// must end. It visits symbolic links, and does not follow them.
func (k *Walk) From(url string, e Entry, depth int) error {
	if !e.IsDir() {
		return k.Fail(url, k.Visit(e, false))
	}
	if depth > MaxDepth {
		return k.Fail(url, ErrDepth)
	}
	if err := k.Fail(url, k.Visit(e, true)); err != nil {
		return err
	}
	files, dirs, err := ContentsOf(k.Ctx(), k.Client, e.File)
	if err := k.Fail(url, err); err != nil {
		return err
	}
	for i, err := range AtOnce(len(files), func(i int) error { return k.Visit(files[i], false) }) {
		if err := k.Fail(reach.ChildURL(url, files[i].Name), err); err != nil {
			return err
		}
	}
	for _, d := range dirs {
		if err := k.From(reach.ChildURL(url, d.Name), d, depth+1); err != nil {
			return err
		}
	}
	return k.Fail(url, k.Visit(e, false))
}
