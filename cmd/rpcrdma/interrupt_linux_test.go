package main

import (
	"context"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// TestFilesInterrupted: interrupted commands do nothing more, and say so.
func TestFilesInterrupted(t *testing.T) {
	r := startRig(t)
	r.build(t, "a=1", "d/b=2", "l -> a")
	want := r.tree(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, scheme := range schemes {
		for _, args := range []string{"ls @/export", "cat @/export/a", "stat @/export/a", "readlink @/export/l", "mkdir -p @/export/x/y", "rm -rf @/export/d", "mv @/export/a @/export/x",
			"ln @/export/a @/export/x", "ln -s @ @/export/x", "touch @/export/x", "touch -r @/export/a @/export/x", "chmod -R 0 @/export", "chown 1 @/export/a"} {
			got := r.execContext(ctx, scheme, strings.Fields(args)...)
			if want := (outcome{cli.ExitInterrupted, "", "rpcrdma: interrupted\n"}); got != want {
				t.Errorf("%s over %s: got %+v, want %+v", args, scheme, got, want)
			}
		}
	}
	if got := r.tree(t); got != want {
		t.Errorf("then there is\n%swant\n%s", got, want)
	}
}
