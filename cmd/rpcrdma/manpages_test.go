package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// TestManPages: each command that --help shows has a page with all its flags.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if code, stdout, stderr := execute(t, "manpages", dir); code != cli.ExitOK || stdout+stderr != "" {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	pages := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		pages++
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			return
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			entry := `\-\-` + strings.ReplaceAll(f.Name, "-", `\-`)
			if has := strings.Contains(string(b), entry); has == f.Hidden {
				t.Errorf("%s has --%s: %v, and hidden: %v", name, f.Name, has, f.Hidden)
			}
		})
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				look(c)
			}
		}
	}
	root := newRoot(io.Discard, io.Discard)
	look(root)
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(list) != pages {
		t.Errorf("%d pages, want %d: %v, %v", len(list), pages, list, err)
	}
	for _, args := range [][]string{{"manpages"}, {"manpages", dir, dir}} {
		if code, _, stderr := execute(t, args...); code != cli.ExitUsage {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
	if code, _, stderr := execute(t, "manpages", filepath.Join(dir, "missing")); code !=
		cli.ExitFailed || !strings.Contains(stderr, "no such file or directory") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
