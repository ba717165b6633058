package nfsserver_test

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestNames calls every procedure that takes a name with special and invalid names.
func TestNames(t *testing.T) {
	// The results of impossible names are the same for all procedures.
	always := map[string]nfs3.Status{
		"": nfs3.ErrAcces, "/": nfs3.ErrAcces, "a/b": nfs3.ErrAcces, "/etc": nfs3.ErrAcces, "../x": nfs3.ErrAcces,
		"a\x00": nfs3.ErrAcces, "\x00": nfs3.ErrAcces,
		strings.Repeat("n", 256): nfs3.ErrNameTooLong, strings.Repeat("n", 5000): nfs3.ErrNameTooLong,
	}
	type dots struct{ dot, dotDot nfs3.Status }
	exist := dots{nfs3.ErrExist, nfs3.ErrExist}
	want := map[string]dots{
		"LOOKUP": {}, "CREATE": exist, "CREATE exclusive": exist, "MKDIR": exist, "SYMLINK": exist, "MKNOD": exist, "MKNOD device": exist,
		"REMOVE": {nfs3.ErrInval, nfs3.ErrIsDir}, "RMDIR": {nfs3.ErrInval, nfs3.ErrExist},
		"RENAME from": {nfs3.ErrInval, nfs3.ErrInval}, "RENAME to": {nfs3.ErrInval, nfs3.ErrInval},
		"LINK into": exist,
	}
	w := newWorld(t)
	c := w.superuser(t)
	seen := 0
	for _, op := range append(operations, linkInto(w.file)) {
		if !op.named {
			continue
		}
		d, ok := want[op.String()]
		if !ok {
			t.Errorf("%v: no expectation", &op)
		}
		seen++
		always["."], always[".."] = d.dot, d.dotDot
		for name, want := range always {
			if got := do(t, c, op.proc, op.args(w.dir, w.root, name), op.res()); got != want {
				t.Errorf("%v %.10q of %d bytes: got %v, want %v", &op, name, len(name), got, want)
			}
		}
		longest := strings.Repeat("n", 255)
		if got := do(t, c, op.proc, op.args(w.dir, w.root, longest), op.res()); got != nfs3.OK && got != nfs3.ErrNoEnt && got != nfs3.ErrExist && got != nfs3.ErrNotDir {
			t.Errorf("%v with a name of 255 bytes: %v", &op, got)
		}
	}
	if seen != len(want) {
		t.Errorf("%d procedures take names, want %d", seen, len(want))
	}
}
