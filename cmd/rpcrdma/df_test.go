package main

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// TestDF: df on file systems of known size.
func TestDF(t *testing.T) {
	r := &clientRig{serveCommand: startServe(t, "--memory", "/a", "--memory", "/b", "--memory-size", "4MiB")}
	for _, scheme := range schemes {
		got := r.exec(t, scheme, "df", "@/a", "@/b/no", "@/b")
		want := r.exec(t, scheme, "df", "@/a", "@/b")
		if got.code != cli.ExitFailed || got.stdout != want.stdout || !strings.Contains(got.stderr, "rpcrdma df @/b/no: ") {
			t.Errorf("%s: got %+v, want what is there, and an error for what is not", scheme, got)
		}
		lines := strings.Split(strings.TrimSuffix(want.stdout, "\n"), "\n")
		if want.code != cli.ExitOK || len(lines) != 3 || !strings.HasPrefix(lines[0], "Filesystem ") || !strings.HasPrefix(lines[1], "@/a ") ||
			!strings.HasPrefix(lines[2], "@/b ") {
			t.Fatalf("%s: got %+v, want two file systems", scheme, want)
		}
		if f := strings.Fields(lines[1]); len(f) != 5 || f[1] != "4096" {
			t.Errorf("%s: got %q, want 4096 blocks", scheme, lines[1])
		}
		if got := r.exec(t, scheme, "df", "-h", "@/a"); !strings.Contains(got.stdout, " 4.0M ") {
			t.Errorf("%s: -h: got %+v, want 4.0M", scheme, got)
		}
		if got := r.exec(t, scheme, "df", "-i", "@/a"); got.code != cli.ExitOK || !strings.HasPrefix(got.stdout, "Filesystem") || !strings.Contains(got.stdout, "IUse%") {
			t.Errorf("%s: -i: got %+v", scheme, got)
		}
	}
	s := &clientRig{serveCommand: startServe(t, "--memory", "/b", "--memory", "/srv/a b", "--memory", "/srv/data")}
	for _, scheme := range schemes {
		for args, want := range map[string]string{"@/": "@/b @/srv/a%20b @/srv/data", "@/srv/ @/b": "@/srv/a%20b @/srv/data @/b"} {
			got := s.exec(t, scheme, append([]string{"df"}, strings.Fields(args)...)...)
			var names []string
			for line := range strings.Lines(got.stdout) {
				names = append(names, strings.Fields(line)[0])
			}
			if names := strings.Join(names, " "); got.code != cli.ExitOK || got.stderr != "" || names != "Filesystem "+want {
				t.Errorf("%s: df %s: got %+v, want %s", scheme, args, got, want)
			}
		}
		if got := s.exec(t, scheme, "df", "@/sr"); got.code != cli.ExitFailed || got.stdout != "" || !strings.Contains(got.stderr, "/srv/data") {
			t.Errorf("%s: df of nothing: got %+v, want a failure that names the exports", scheme,
				got)
		}
	}
	if got := r.exec(t, "tcp", "df"); got.code != cli.ExitUsage {
		t.Errorf("without a URL: got %+v", got)
	}
	if got := r.exec(t, "tcp", "df", "--help"); got.code != cli.ExitOK || !strings.Contains(got.stdout, "--human-readable") {
		t.Errorf("help: got %+v", got)
	}
}
