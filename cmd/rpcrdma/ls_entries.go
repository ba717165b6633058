package main

import (
	"iter"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// entries lists a directory. Where names are enough, the server is not asked for what it leaves out.
func (l *listing) entries(d directory) iter.Seq2[entry, error] {
	if l.long || l.recursive || l.byTime || l.bySize {
		return entriesOf(l.ctx(), d.client, d.file)
	}
	return func(yield func(entry, error) bool) {
		for e, err := range d.client.ReadDir(l.ctx(), d.file) {
			if !yield(entry{e.Name, nfs3.FH{}, nfs3.Fattr{}}, err) {
				return
			}
		}
	}
}
