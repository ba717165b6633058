package nfsmount

import (
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
)

// holds reports whether export is dir or contains it, and returns the rest of dir below export.
// Both are absolute and clean.
func holds(export, dir string) (rest string, ok bool) {
	if export == "/" {
		return strings.TrimPrefix(dir, "/"), true
	}
	rest, ok = strings.CutPrefix(dir, export)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

// ExportOf returns the export with the longest path that contains dir, and the rest of dir below
// it, without slashes at its ends.
func ExportOf(exports []mount3.Export, dir string) (export, rest string, ok bool) {
	dir = clean(dir)
	best := ""
	for _, x := range exports {
		p := clean(x.Path)
		if below, holds := holds(p, dir); holds && len(p) > len(best) {
			export, rest, best = x.Path, below, p
		}
	}
	return export, rest, best != ""
}

// clean returns p as an absolute, clean path.
func clean(p string) string { return path.Clean("/" + p) }
