// Package evidence keeps the files that tell why a test failed: captures, logs, consoles.
package evidence

import (
	"flag"
	"os"
	"testing"
)

// Dir returns a new directory for files of a test. If the test fails, go test -artifacts keeps the
// directory, and the test logs its name. If the test passes, nothing is kept.
func Dir(t *testing.T) string {
	t.Helper()
	base := t.ArtifactDir()
	dir, err := os.MkdirTemp(base, "")
	if err == nil {
		err = os.Chmod(dir, 0o755) // as of t.TempDir: other users may look into it
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		switch {
		case !t.Failed():
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
			_ = os.Remove(base) // which may have other files
		case kept():
			t.Logf("files of this test are kept in %s", dir)
		}
	})
	return dir
}

// kept reports whether the tests run with -artifacts.
func kept() bool {
	f := flag.Lookup("test.artifacts")
	return f != nil && f.Value.String() == "true"
}
