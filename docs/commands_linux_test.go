package docs_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/mdblocks"
)

// TestCommands runs each command of the documents as it is printed, from the top of a document to
// its end, in a copy of the repository.
func TestCommands(t *testing.T) {
	box := mdblocks.NewSandbox(t, "..")
	for _, bad := range []string{
		"run here 0 false", "run here 1 true", "start here serve 'rpcrdma serve'", "accept here 'x = 1'",
	} {
		if out, err := box.Run(t, bad); err == nil {
			t.Errorf("%s: no error\n%s", bad, out)
		}
	}
	scripts := make(map[string]string)
	for _, b := range readBlocks(t, "sh", "toml") {
		scripts[b.File] += box.Script(t, b)
	}
	for file, script := range scripts {
		t.Run(file, func(t *testing.T) {
			if out, err := box.Run(t, script); err != nil {
				t.Errorf("%v\n%s", err, out)
			} else {
				t.Logf("%s", out)
			}
		})
	}
}
