package dirfs

import (
	"slices"
	"sync"
)

// maxHints bounds the names that are remembered of one file.
const maxHints = 8

// maxGone bounds the keys that are remembered of files that are gone.
const maxGone = 4096

// table is the nodes: for each file that was seen, where.
type table struct {
	root   key
	sealer sealer
	log    *hintLog // nil without a state directory

	mu    sync.RWMutex // guards what follows, and the hints of nodes
	nodes map[key]*node
	// gone are files that were looked for in vain. They are not looked for again until
	// they are seen.
	gone map[key]struct{}
}

// get returns the node of a key, or nil and whether the file is known to be gone.
func (t *table) get(k key) (*node, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, gone := t.gone[k]
	return t.nodes[k], gone
}

// add returns the node of a key, a new one without hints if there is none.
func (t *table) add(k key) *node {
	mac := t.sealer.mac(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addLocked(k, mac)
}

func (t *table) addLocked(k key, mac [macLen]byte) *node {
	n := t.nodes[k]
	if n == nil {
		n = &node{key: k, mac: mac}
		t.nodes[k] = n
		delete(t.gone, k)
	}
	return n
}

// intern returns the node of a file that was just seen by a name.
func (t *table) intern(k key, in hint) *node {
	n, _ := t.get(k)
	if n == nil {
		n = t.add(k)
	}
	t.enter(n, in)
	return n
}

// seen reports whether n is known by a name already.
func (t *table) seen(n *node, in hint) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.nodes[n.key] == n && slices.Contains(n.hints, in)
}

// enter notes a name of a file.
func (t *table) enter(n *node, in hint) {
	if n.key == t.root || t.seen(n, in) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nodes[n.key] != n {
		return // forgotten meanwhile
	}
	t.enterLocked(n, in)
	t.log.add(recordName, n.key, in)
}

func (t *table) enterLocked(n *node, in hint) {
	if i := slices.Index(n.hints, in); i >= 0 {
		n.hints = slices.Delete(n.hints, i, i+1)
	}
	if len(n.hints) == maxHints {
		n.hints = slices.Delete(n.hints, 0, 1)
	}
	n.hints = append(n.hints, in)
}

// leave notes that a file does not have a name any more.
func (t *table) leave(n *node, in hint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaveLocked(n, in) {
		t.log.add(recordNoName, n.key, in)
	}
}

func (t *table) leaveLocked(n *node, in hint) bool {
	i := slices.Index(n.hints, in)
	if i >= 0 {
		n.hints = slices.Delete(n.hints, i, i+1)
	}
	return i >= 0
}

// forget drops a file that is gone.
func (t *table) forget(n *node) {
	if n.key == t.root {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n.gone.Store(true)
	if t.nodes[n.key] != n {
		return
	}
	delete(t.nodes, n.key)
	if len(t.gone) == maxGone {
		clear(t.gone)
	}
	t.gone[n.key] = struct{}{}
	t.log.add(recordGone, n.key, hint{})
}

// names returns a copy of the hints of n, the best one first.
func (t *table) names(n *node) []hint {
	t.mu.RLock()
	defer t.mu.RUnlock()
	h := slices.Clone(n.hints)
	slices.Reverse(h)
	return h
}
