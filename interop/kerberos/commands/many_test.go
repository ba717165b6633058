//go:build interop

package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestManyFiles makes many calls at a time over several connections that share a context. None is
// taken for a replay.
func TestManyFiles(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "krb5i")
	dir := t.TempDir()
	up, down := filepath.Join(dir, "up"), filepath.Join(dir, "down")
	if err := os.Mkdir(up, 0o755); err != nil {
		t.Fatal(err)
	}
	const files = 1000
	for i := range files {
		if err := os.WriteFile(filepath.Join(up, fmt.Sprint(i)), random()[i:2*i], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, scheme := range []string{"rdma", "tcp"} {
		tree := s.url(scheme, "/export/"+scheme, "")
		r.ok(t, "alice", "put", "-r", "--connections", "4", up, tree)
		r.ok(t, "alice", "get", "-r", "--connections", "4", tree, down+scheme)
		for i := range files {
			got, err := os.ReadFile(filepath.Join(down+scheme, fmt.Sprint(i)))
			if err != nil || string(got) != string(random()[i:2*i]) {
				t.Fatalf("%s: file %d: %v, %d bytes", scheme, i, err, len(got))
			}
		}
	}
	text := metrics(t, s)
	for _, reason := range []string{"replay", "out_of_window", "bad_mic", "bad_body", "wrap_failed"} {
		if n := value(t, text, fmt.Sprintf(`rpcrdma_gss_refusals_total{reason="%s"}`, reason)); n != 0 {
			t.Errorf("%v calls were refused: %s", n, reason)
		}
	}
}
