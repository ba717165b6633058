package files

import (
	"iter"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// entries lists a directory. If names are enough, it does not ask for attributes that the server
// leaves out.
func (l *listing) entries(d directory) iter.Seq2[remote.Entry, error] {
	if l.long || l.json || l.recursive || l.byTime || l.bySize {
		return remote.EntriesOf(l.Ctx(), d.Client, d.file)
	}
	return func(yield func(remote.Entry, error) bool) {
		for e, err := range d.Client.ReadDir(l.Ctx(), d.file) {
			if !yield(remote.Entry{Name: e.Name, File: nfs3.FH{}, Attr: nfs3.Fattr{}}, err) {
				return
			}
		}
	}
}
