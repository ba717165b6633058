package copying

import (
	"io/fs"
	"testing"
	"time"
)

// TestAlike: what -p keeps is the same, or it is set anew. An owner that is not known, or that
// could not be set before, does not count.
func TestAlike(t *testing.T) {
	at := time.Unix(1e9, 0)
	const setUID = fs.ModeSetuid | 0o755
	for _, tt := range []struct {
		name     string
		f, there details
		notOwned bool
		want     bool
	}{
		{"the same", details{uid: 5, gid: 6, mode: setUID}, details{uid: 5, gid: 6, mode: setUID}, false, true},
		{"of the superuser", details{}, details{}, false, true},
		{"of the superuser, then of another", details{}, details{uid: 5}, false, false},
		{"of another, then of the superuser", details{uid: 5}, details{}, false, false},
		{"another group", details{gid: 5}, details{}, false, false},
		{"an owner that could not be set", details{uid: 5}, details{}, true, true},
		{"then without set-user-ID", details{uid: 5, mode: setUID}, details{mode: 0o755}, true, true},
		{"an unknown owner", details{uid: -1, gid: -1}, details{uid: 5, gid: 6}, false, true},
		{"an unknown owner of the copy", details{uid: 5, gid: 6}, details{uid: -1, gid: -1}, false, true},
		{"another mode", details{mode: 0o600}, details{mode: 0o644}, false, false},
		{"a link with another mode", details{mode: fs.ModeSymlink | 0o777}, details{mode: fs.ModeSymlink | 0o755}, false, true},
		{"another time", details{mtime: at.Add(time.Second)}, details{}, false, false},
	} {
		for _, d := range []*details{&tt.f, &tt.there} {
			if d.mtime.IsZero() {
				d.mtime = at
			}
		}
		c := new(copier)
		c.notOwned.Store(tt.notOwned)
		if got := c.alike(&Item{details: tt.f}, &tt.there); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
