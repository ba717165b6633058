package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// TestCopyResult: a copy ends with a line about its result, unless -q or --json is given, or a
// single error says it.
func TestCopyResult(t *testing.T) {
	r := startRig(t)
	t.Chdir(t.TempDir())
	for _, dir := range []string{"tree", "back"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	rig.Write(t, "tree/a", make([]byte, 3000))
	rig.Write(t, "tree/b", make([]byte, 96))
	rig.Write(t, "one", []byte("1"))
	times := regexp.MustCompile(` in \S+, \S+ \S+/s`)
	numbers := regexp.MustCompile(`"(seconds|bytes_per_second)":[0-9.e+-]+`)
	for _, tt := range []struct {
		args string
		want outcome
	}{
		{"put one @/memory/one", outcome{0, "", "put: 1 file, 1 B in T\n"}},
		{"put -r tree @/memory", outcome{0, "", "put: 2 files, 3.1 KiB in T\n"}},
		{"put -rv tree/b @/memory/c", outcome{0, "", "tree/b -> @/memory/c\nput: 1 file, 96 B in T\n"}},
		{"get -v @/memory/tree/a back", outcome{0, "", "@/memory/tree/a -> back/a\nget: 1 file, 3.0 KiB in T\n"}},
		{"get -q @/memory/tree/a back/q", outcome{0, "", ""}},
		{"get -qv @/memory/tree/a back/q", outcome{0, "", ""}},
		{"cp @/memory/one @/memory/two", outcome{0, "", "cp: 1 file, 1 B in T\n"}},
		{"get @/memory/one -", outcome{0, "1", "get: 1 file, 1 B in T\n"}},
		{"put none @/memory/none", outcome{1, "", "rpcrdma put none: no such file or directory\n"}},
		{"put none one @/memory", outcome{1, "", "rpcrdma put none: no such file or directory\nput: 1 file, 1 B in T, 1 failed\n"}},
		{"put --json -r tree @/memory", outcome{0,
			`{"command":"put","dry_run":false,"files":2,"bytes":3096,"seconds":N,"bytes_per_second":N,"skipped":0,"failed":0}` + "\n", ""}},
		{"put --dry-run -r --ignore-existing one tree @/memory", outcome{0, "", "put: 0 files would be copied, 3 skipped\n"}},
		{"put --dry-run -v --ignore-existing one @/memory", outcome{0, "",
			"one: skipped: it exists\nput: 0 files would be copied, 1 skipped\n"}},
		{"put --dry-run -v one @/memory/new", outcome{0, "one -> @/memory/new\n", "put: 1 file would be copied\n"}},
		{"get --json @/memory/none back", outcome{1,
			`{"command":"get","dry_run":false,"files":0,"bytes":0,"seconds":N,"bytes_per_second":N,"skipped":0,"failed":1}` + "\n",
			"rpcrdma get @/memory/none: no such file or directory\n"}},
		{"get --json @/memory/one -", outcome{0, "1",
			`{"command":"get","dry_run":false,"files":1,"bytes":1,"seconds":N,"bytes_per_second":N,"skipped":0,"failed":0}` + "\n"}},
		{"cp -q --json @/memory/one @/memory/two", outcome{0,
			`{"command":"cp","dry_run":false,"files":1,"bytes":1,"seconds":N,"bytes_per_second":N,"skipped":0,"failed":0}` + "\n", ""}},
	} {
		got := r.execWhole(t.Context(), "tcp", strings.Split(tt.args, " ")...)
		got.stderr = times.ReplaceAllString(got.stderr, " in T")
		got.stdout = numbers.ReplaceAllString(got.stdout, `"$1":N`)
		got.stderr = numbers.ReplaceAllString(got.stderr, `"$1":N`)
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.args, got, tt.want)
		}
	}
}

// TestCopyLimit: all files together stay below --bwlimit, and all are copied. The test takes the
// rate that the command prints, which is lower on a slow machine.
func TestCopyLimit(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	dir := t.TempDir()
	const files, size = 4, 40 << 10
	if err := os.Mkdir(filepath.Join(dir, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		rig.Write(t, filepath.Join(dir, "tree", fmt.Sprint(i)), rig.Pattern(size))
	}
	for _, args := range [][]string{
		{"put", "-r", filepath.Join(dir, "tree"), "@/memory"},
		{"put", "-r", "--sparse", filepath.Join(dir, "tree"), "@/memory"},
		{"get", "-r", "@/memory/tree", filepath.Join(dir, "back")},
		{"cp", "-r", "@/memory/tree", "@/memory/copy"},
	} {
		got := r.execWhole(t.Context(), "rdma", append([]string{args[0], "--bwlimit", "400KiB", "--json"}, args[1:]...)...)
		var result struct {
			Files, Bytes int
			Rate         int `json:"bytes_per_second"`
		}
		if err := json.Unmarshal([]byte(got.stdout), &result); err != nil || got.code != 0 {
			t.Fatalf("%v: %+v, %v", args, got, err)
		}
		const burst = 20 // part of a second's bytes that may pass at once
		most := 400 << 10 * files * size / (files*size - 400<<10/burst)
		if result.Files != files || result.Bytes != files*size || result.Rate > most {
			t.Errorf("%v: got %+v, want %d files, %d bytes, at most %d a second", args, result, files, files*size, most)
		}
	}
	for i := range files {
		rig.Holds(t, filepath.Join(dir, "back", fmt.Sprint(i)), rig.Pattern(size))
	}
}
