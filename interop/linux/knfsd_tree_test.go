//go:build interop

package linux

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// trees copies a deep tree to the server with -r and -p, and back. The guest checks that it is the
// same.
func (k *knfsd) trees(t *testing.T) {
	const depth = 30
	from := filepath.Join(t.TempDir(), "tree")
	at := from
	for i := range depth {
		at = filepath.Join(at, fmt.Sprintf("level-%d", i))
		for _, err := range []error{
			os.MkdirAll(filepath.Join(at, "empty"), 0o755),
			os.WriteFile(filepath.Join(at, "file"), random(t, i*1000), 0o600+fs.FileMode(i%8)),
			os.Symlink("../level-"+fmt.Sprint(i), filepath.Join(at, "link")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	want := manifest(t, from)
	k.do(t, "put", "-rp", from, k.url("rdma", open))
	got := k.sh[0].run(t, `
		cd /export/tree
		find . -type f | sort | xargs /usr/bin/stat -c '%n %a %s %.9Y'
		find . -type f | sort | xargs sha256sum
		find . -type l | sort | while read -r l; do echo $l $(readlink $l); done
		find . -type d | wc -l`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("what the guest has:", diff)
	}
	to := t.TempDir()
	k.do(t, "get", "-rp", k.url("rdma", open+"/tree"), to)
	if diff := cmp.Diff(want, manifest(t, filepath.Join(to, "tree"))); diff != "" {
		t.Error("what has come back:", diff)
	}
	k.do(t, "rm", "-r", k.url("rdma", open+"/tree"))
	k.guestSays(t, "gone", "[ -e /export/tree ] || echo gone")
}

// manifest describes a tree in the format that the guest uses.
func manifest(t *testing.T, dir string) string {
	t.Helper()
	var files, sums, links []string
	dirs := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		switch {
		case d.IsDir():
			dirs++
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			m := info.ModTime()
			files = append(files, fmt.Sprintf("./%s %o %d %d.%09d", name, info.Mode().Perm(), len(data), m.Unix(), m.Nanosecond()))
			sums = append(sums, fmt.Sprintf("%x  ./%s", sha256.Sum256(data), name))
		default:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			links = append(links, fmt.Sprintf("./%s %s", name, target))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Concat(files, sums, links, []string{fmt.Sprint(dirs)}), "\n")
}
