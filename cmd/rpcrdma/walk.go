package main

import "github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"

// walk is a way through a tree, on which something is done with each file.
type walk struct {
	*work
	client *nfsclient.Client
	// visit is called with a file, and with a directory twice: before what is in it, and after. With files it is called concurrently.
	visit func(e entry, before bool) error
}

// from visits e and what is below. It reports what fails; the error is one to end with. Symbolic links are visited, not followed.
func (k *walk) from(url string, e entry, depth int) error {
	if !e.isDir() {
		return k.fail(url, k.visit(e, false))
	}
	if depth > maxDepth {
		return k.fail(url, errDepth)
	}
	if err := k.fail(url, k.visit(e, true)); err != nil {
		return err
	}
	files, dirs, err := contentsOf(k.ctx(), k.client, e.file)
	if err := k.fail(url, err); err != nil {
		return err
	}
	for i, err := range atOnce(len(files), func(i int) error { return k.visit(files[i], false) }) {
		if err := k.fail(childURL(url, files[i].name), err); err != nil {
			return err
		}
	}
	for _, d := range dirs {
		if err := k.from(childURL(url, d.name), d, depth+1); err != nil {
			return err
		}
	}
	return k.fail(url, k.visit(e, false))
}
