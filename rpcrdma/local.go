package rpcrdma

import "github.com/rpcrdma/go-rpcrdma/transport"

// Data lies in memory of the program. If the provider is a transport.Importer, that memory is
// imported. Otherwise the data is copied to memory of the pool.

// imported imports data for access, and appends the Slices to list. It returns those.
func (l *link) imported(list *[]transport.Slice, data [][]byte, access transport.Access) (
	[]transport.Slice, error) {
	first := len(*list)
	for _, p := range data {
		if len(p) == 0 {
			continue
		}
		s, err := l.importer.Import(p, access)
		if err != nil {
			return nil, err
		}
		*list = append(*list, s)
	}
	return (*list)[first:], nil
}

// copied copies n bytes of data to memory of the pool for access, and appends that to list. It
// returns that.
func (l *link) copied(list *[]transport.Slice, data [][]byte, n int, access transport.Access) (
	[]transport.Slice, error) {
	s, err := l.shared.Get(n, access)
	if err != nil {
		return nil, err
	}
	gather(s.Bytes, data)
	*list = append(*list, s)
	return (*list)[len(*list)-1:], nil
}

// endImports ends imports and returns the emptied list.
func (l *link) endImports(list []transport.Slice) []transport.Slice {
	if l.importer != nil {
		for _, s := range list {
			l.importer.Release(s)
		}
	}
	clear(list)
	return list[:0]
}

// gather copies data to b.
func gather(b []byte, data [][]byte) {
	for _, p := range data {
		b = b[copy(b, p):]
	}
}
