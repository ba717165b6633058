package nfsmount

import (
	"path"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
)

// holds reports whether export is dir or above it, and what of dir is below. Both are absolute and
// clean.
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

// ExportOf returns the path of the export that holds dir, of those that are dir or above it the
// longest, and what of dir is below, without slashes around it.
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

// clean returns an absolute path without detours.
func clean(p string) string { return path.Clean("/" + p) }
