package serve

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestDirectoryError: what to do about a directory that cannot be exported.
func TestDirectoryError(t *testing.T) {
	dir := t.TempDir()
	e := Export{Name: "/e", Dir: dir}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"another system", checkDirectory(dir, "plan9"), "--export needs Linux: use --memory NAME instead"},
		{"missing", checkDirectory(filepath.Join(dir, "missing"), "linux"), "--export /e=" + dir + ": there is no such directory: make it, or name another"},
		{"no rights", &fs.PathError{Op: "open", Path: "x", Err: os.ErrPermission},
			"--export /e=" + dir + ": open x: permission denied: user 1000, who runs serve, may not enter it: grant access, or run serve as root"},
	} {
		if got := directoryError(e, tt.err, 1000).Error(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if err := checkDirectory(dir, "linux"); err != nil {
		t.Error(err)
	}
}

// TestStateError: what to do if the state directory may not be created.
func TestStateError(t *testing.T) {
	got := stateError(&fs.PathError{Op: "mkdir", Path: "/x", Err: os.ErrPermission}, 1000)
	if want := "mkdir /x: permission denied: user 1000, who runs serve, may not create it: name another --state, or run serve as root"; got == nil || got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if err := stateError(nil, 1000); err != nil {
		t.Error(err)
	}
}

// TestOverlap: which directories share files.
func TestOverlap(t *testing.T) {
	top := t.TempDir()
	a, inA, b := filepath.Join(top, "a"), filepath.Join(top, "a", "in"), filepath.Join(top, "ab")
	for _, dir := range []string{inA, b} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{a, a, true},
		{a, inA, true},
		{inA, a + "/", true},
		{inA, top, true},
		{a, b, false},
		{inA, b, false},
		{"", a, false},
		{"", "", false},
	} {
		if got := overlap(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: got %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
