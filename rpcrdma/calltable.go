package rpcrdma

// callTable finds calls by XID. One call at a time needs no map, whose lookup would touch three
// more cache lines.
type callTable struct {
	n     int
	first *call            // one of the calls; nil if that one was removed
	rest  map[uint32]*call // the others
}

// get returns the call with that XID, or nil.
func (t *callTable) get(xid uint32) *call {
	switch {
	case t.n == 0:
		return nil
	case t.first != nil && t.first.xid == xid:
		return t.first
	}
	return t.rest[xid]
}

// add adds a call. No other call may have its XID.
func (t *callTable) add(k *call) {
	t.n++
	if t.first == nil {
		t.first = k
		return
	}
	if t.rest == nil {
		t.rest = make(map[uint32]*call)
	}
	t.rest[k.xid] = k
}

// remove removes a call of the table.
func (t *callTable) remove(k *call) {
	t.n--
	if t.first == k {
		t.first = nil
		return
	}
	delete(t.rest, k.xid)
}

// all yields the calls in no particular order.
func (t *callTable) all(yield func(*call) bool) {
	if t.first != nil && !yield(t.first) {
		return
	}
	for _, k := range t.rest {
		if !yield(k) {
			return
		}
	}
}
