package main

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestDFRows: the numbers that df makes of the server's.
func TestDFRows(t *testing.T) {
	tests := []struct {
		name  string
		flags dfFlags
		stat  nfs3.FSStat
		want  string
	}{
		{"blocks", dfFlags{}, nfs3.FSStat{TotalBytes: 10240, FreeBytes: 6144, AvailBytes: 4096}, "x 10 4 4 50%"},
		{"rounded up", dfFlags{}, nfs3.FSStat{TotalBytes: 1025, FreeBytes: 1024, AvailBytes: 1023}, "x 2 1 1 1%"},
		{"empty", dfFlags{}, nfs3.FSStat{TotalBytes: 1024, FreeBytes: 1024, AvailBytes: 1024}, "x 1 0 1 0%"},
		{"full", dfFlags{}, nfs3.FSStat{TotalBytes: 1 << 20}, "x 1024 1024 0 100%"},
		{"a kept part", dfFlags{}, nfs3.FSStat{TotalBytes: 100 << 10, FreeBytes: 10 << 10}, "x 100 90 0 100%"},
		{"nothing", dfFlags{}, nfs3.FSStat{}, "x 0 0 0 -"},
		{"more free than there is", dfFlags{}, nfs3.FSStat{TotalBytes: 1024, FreeBytes: 4096, AvailBytes: 1024}, "x 1 0 1 0%"},
		{"as large as can be", dfFlags{}, nfs3.FSStat{TotalBytes: math.MaxUint64, FreeBytes: 1 << 63, AvailBytes: 1 << 63},
			"x 18014398509481984 9007199254740992 9007199254740992 50%"},
		{"human", dfFlags{human: true}, nfs3.FSStat{TotalBytes: 3 << 30, FreeBytes: 3<<30 - 1000, AvailBytes: 1 << 20}, "x 3.0G 1000 1.0M 1%"},
		{"inodes", dfFlags{inodes: true}, nfs3.FSStat{TotalBytes: 1, TotalFiles: 1000, FreeFiles: 900, AvailFiles: 800}, "x 1000 100 800 12%"},
		{"human inodes", dfFlags{inodes: true, human: true}, nfs3.FSStat{TotalFiles: 4096, FreeFiles: 2048, AvailFiles: 2048}, "x 4.0K 2.0K 2.0K 50%"},
		{"no number of inodes", dfFlags{inodes: true}, nfs3.FSStat{TotalBytes: 1024}, "x - - - -"},
	}
	for _, tt := range tests {
		got := strings.Join(tt.flags.row("x", &tt.stat), " ")
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		if columns := len(tt.flags.heading()); columns != len(strings.Fields(tt.want)) {
			t.Errorf("%s: %d columns", tt.name, columns)
		}
	}
}

// TestTable: columns are as wide as what is in them, by characters.
func TestTable(t *testing.T) {
	var b strings.Builder
	table := table{{"Name", "Size", "%"}, {"äöü/long", "1", "100%"}, {"x", "123456", "-"}}
	if err := table.write(&b); err != nil {
		t.Fatal(err)
	}
	const want = "Name       Size    %\n" +
		"äöü/long      1 100%\n" +
		"x        123456    -\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestDF: the command, on file systems of a size that is known.
func TestDF(t *testing.T) {
	r := &clientRig{serveCommand: startServe(t, "--memory", "/a", "--memory", "/b", "--memory-size", "4MiB")}
	for _, scheme := range schemes {
		got := r.exec(t, scheme, "df", "@/a", "@/b/no", "@/b")
		want := r.exec(t, scheme, "df", "@/a", "@/b")
		if got.code != exitFailed || got.stdout != want.stdout || !strings.Contains(got.stderr, "rpcrdma df @/b/no: ") {
			t.Errorf("%s: got %+v, want what is there, and an error for what is not", scheme, got)
		}
		lines := strings.Split(strings.TrimSuffix(want.stdout, "\n"), "\n")
		if want.code != exitOK || len(lines) != 3 || !strings.HasPrefix(lines[0], "Filesystem ") || !strings.HasPrefix(lines[1], "@/a ") ||
			!strings.HasPrefix(lines[2], "@/b ") {
			t.Fatalf("%s: got %+v, want two file systems", scheme, want)
		}
		if f := strings.Fields(lines[1]); len(f) != 5 || f[1] != "4096" {
			t.Errorf("%s: got %q, want 4096 blocks", scheme, lines[1])
		}
		if got := r.exec(t, scheme, "df", "-h", "@/a"); !strings.Contains(got.stdout, " 4.0M ") {
			t.Errorf("%s: -h: got %+v, want 4.0M", scheme, got)
		}
		if got := r.exec(t, scheme, "df", "-i", "@/a"); got.code != exitOK || !strings.HasPrefix(got.stdout, "Filesystem") || !strings.Contains(got.stdout, "IUse%") {
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
			if names := strings.Join(names, " "); got.code != exitOK || got.stderr != "" || names != "Filesystem "+want {
				t.Errorf("%s: df %s: got %+v, want %s", scheme, args, got, want)
			}
		}
		if got := s.exec(t, scheme, "df", "@/sr"); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "/srv/data") {
			t.Errorf("%s: df of nothing: got %+v, want a failure that names the exports", scheme,
				got)
		}
	}
	if got := r.exec(t, "tcp", "df"); got.code != exitUsage {
		t.Errorf("without a URL: got %+v", got)
	}
	if got := r.exec(t, "tcp", "df", "--help"); got.code != exitOK || !strings.Contains(got.stdout, "--human-readable") {
		t.Errorf("help: got %+v", got)
	}
}
