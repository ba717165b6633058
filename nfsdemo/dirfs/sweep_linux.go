package dirfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// sweepEvery is how often files are looked for that the host has removed while a descriptor of
// theirs was open: until it is closed, they take up their space.
const sweepEvery = 30 * time.Second

// sweepUntil sweeps until stop is closed.
func (t *tree) sweepUntil(stop <-chan struct{}) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			t.sweep()
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
