package dirfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// sweepEvery is how often files are looked for that the host has removed while a descriptor of
// theirs was open: until it is closed, they take up their space.
const sweepEvery = 30 * time.Second

// idleTime is how long a descriptor for writing stays open at least that is not used, and half of
// how long it stays at most. As long as there is one, the host does not execute the file.
const idleTime = 2 * time.Second

// sweepUntil sweeps until stop is closed.
func (t *tree) sweepUntil(stop <-chan struct{}) {
	removed, idle := time.NewTicker(sweepEvery), time.NewTicker(idleTime)
	defer removed.Stop()
	defer idle.Stop()
	for {
		select {
		case <-stop:
			return
		case <-removed.C:
			t.sweep()
		case <-idle.C:
			t.closeIdle()
		}
	}
}

// sweep forgets those whose last name is gone of the files that are open.
func (t *tree) sweep() {
	var st unix.Statx_t
	for _, c := range []*descCache{&t.descs.paths, &t.descs.data} {
		for _, d := range c.all() {
			if statFD(d.fd, &st) == nil && st.Nlink == 0 {
				t.forget(d.node)
			}
			d.release()
		}
	}
}

// closeIdle gives up descriptors for writing that nobody has used for a while. What was written and
// not committed goes to stable storage before, as it would when the descriptor is closed.
func (t *tree) closeIdle() {
	for _, d := range t.descs.data.idle() {
		if d.dirty.Load() && !d.node.gone.Load() {
			_ = d.fsync() // a failure is counted
		}
		t.descs.data.retire(d)
		d.release()
	}
}
