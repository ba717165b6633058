package dirfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// sweepEvery is how often files are looked for that the host has removed while a descriptor of theirs was open: until
// it is closed, they take up their space.
const sweepEvery = 30 * time.Second

// sweepUntil sweeps until stop is closed.
func (fs *FS) sweepUntil(stop <-chan struct{}) {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			fs.sweep()
		}
	}
}

// sweep forgets those whose last name is gone of the files that are open.
func (fs *FS) sweep() {
	var st unix.Statx_t
	for _, c := range []*descCache{&fs.paths, &fs.data} {
		for _, d := range c.all() {
			if statFD(d.fd, &st) == nil && st.Nlink == 0 {
				fs.forget(d.node)
			}
			d.release()
		}
	}
}
