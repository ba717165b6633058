//go:build linux

package dirfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestOverlay: the layers of an overlay may be on different devices. Files of every layer are
// served.
func TestOverlay(t *testing.T) {
	top, merged := t.TempDir(), tempDir(t)
	for _, name := range []string{"one", "two", "upper"} {
		dir := filepath.Join(top, name)
		must(t, os.Mkdir(dir, 0o755))
		mountOn(t, dir, "tmpfs", "tmpfs", 0, "size=1m,mode=0755")
	}
	for path, data := range map[string]string{"one/file1": "one", "two/file2": "two", "two/dir/file3": "three"} {
		path = filepath.Join(top, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(data), 0o644))
	}
	for _, name := range []string{"layer", "work"} {
		must(t, os.Mkdir(filepath.Join(top, "upper", name), 0o755))
	}
	mountOn(t, merged, "overlay", "overlay", 0, "lowerdir="+filepath.Join(top, "one")+":"+filepath.Join(top, "two")+
		",upperdir="+filepath.Join(top, "upper", "layer")+",workdir="+filepath.Join(top, "upper", "work"))
	cfg := Config{Path: merged, State: filepath.Join(t.TempDir(), "state")}
	f, err := New(cfg)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	files := map[string]nfs3.FH{"three": {}}
	for name, data := range map[string]string{"file1": "one", "file2": "two"} {
		o, _, err := f.Lookup(t.Context(), super, f.Root(), name)
		must(t, err)
		files[data] = o.File
	}
	d, _, err := f.Lookup(t.Context(), super, f.Root(), "dir")
	must(t, err)
	walkAll(t, f, d.File, true, 10, func(e *nfs3.Entry) {
		if e.Name == "file3" {
			files["three"] = e.File.FH
		}
	})
	made := createIn(t, f, d.File, "file4")
	write(t, f, made, 0, []byte("four"))
	files["four"] = made
	for range 2 {
		for data, h := range files {
			wantData(t, f, h, data)
		}
		f = restart(t, f)
	}
}
