package dirfs

import "sync"

// maxAbsent bounds the number of absent files that are remembered.
const maxAbsent = 32 << 10

// absent are files that were removed, or not found. They are not searched for again until they are
// seen. If there are too many, the older half is forgotten.
type absent struct {
	mu         sync.Mutex // guards what follows
	young, old map[key]struct{}
}

func (a *absent) has(k key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, young := a.young[k]
	_, old := a.old[k]
	return young || old
}

func (a *absent) add(k key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.young == nil || len(a.young) >= maxAbsent/2 {
		a.young, a.old = make(map[key]struct{}), a.young
	}
	a.young[k] = struct{}{}
}

func (a *absent) drop(k key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.young, k)
	delete(a.old, k)
}
