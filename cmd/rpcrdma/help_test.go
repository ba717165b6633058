package main

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// TestHelp: all commands are listed, and those on files have examples.
func TestHelp(t *testing.T) {
	code, stdout, stderr := execute(t, "--help")
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	groups := strings.Split(stdout, "\n\n")
	for _, tt := range []struct{ title, names string }{
		{"Servers:", "serve gateway"},
		{"Files on servers:", "ls cat stat readlink mkdir rm rmdir mv ln touch chmod chown get put cp df"},
		{"Other commands:", "ping probe bench conf demo version help completion"},
	} {
		i := 0
		for ; i < len(groups) && !strings.HasPrefix(groups[i], tt.title); i++ {
		}
		if i == len(groups) {
			t.Errorf("no %q in\n%s", tt.title, stdout)
			continue
		}
		for _, name := range strings.Fields(tt.names) {
			if !strings.Contains(groups[i], "\n  "+name+" ") {
				t.Errorf("no %s in\n%s", name, groups[i])
			}
			if tt.title != "Files on servers:" {
				continue
			}
			code, stdout, stderr := execute(t, name, "--help")
			if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, "\nExamples:\n  rpcrdma "+name+" ") || !strings.Contains(stdout, "--uid") {
				t.Errorf("%s: exit %d: %s%s", name, code, stdout, stderr)
			}
		}
	}
}
