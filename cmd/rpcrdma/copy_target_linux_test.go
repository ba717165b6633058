package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// TestCopyTarget: with -T, a repeated copy of a directory goes over the first one. Without -T, it
// never ends up inside the first one without a message.
func TestCopyTarget(t *testing.T) {
	const (
		once   = `drwxr-xr-x "d"` + "\n" + `-rw-r--r-- "d/c" "c"` + "\n"
		nested = `drwxr-xr-x "d/d"` + "\n" + `-rw-r--r-- "d/d/c" "c"` + "\n"
		other  = `drwxr-xr-x "new"` + "\n" + `-rw-r--r-- "new/c" "c"` + "\n"
		there  = "exists: "
	)
	for _, tt := range []struct {
		name   string
		args   string // once more after those of the first copy
		code   int
		stderr string // in it
		want   string
	}{
		{"the same name", "-r SRC/d DST/d", 1, "d: " + there + "use -T to copy over it; for a copy in it, write d/d", once},
		{"the same name with a slash", "-r SRC/d DST/d/", 1, there, once},
		{"-T", "-rT SRC/d DST/d", 0, "", once},
		{"-T with a slash", "-aT SRC/d DST/d/", 0, "", once},
		{"the name twice", "-r SRC/d DST/d/d", 0, "", once + nested},
		{"into the one above", "-r SRC/d DST", 0, "", once},
		{"several", "-r SRC/d SRC/d/c DST/d", 0, "", once + nested},
		{"another name", "-r SRC/d DST/new", 0, "", once + other},
		{"another name again", "-r SRC/d DST/new", 0, "new: " + there + "the copy goes into it, as ",
			once + other + strings.NewReplacer(`"d`, `"new/d`).Replace(once)},
		{"another name with a slash", "-r SRC/d DST/new/", 0, "", once + other + strings.NewReplacer(`"d`, `"new/d`).Replace(once)},
		{"a file over a directory", "-T SRC/d/c DST/d", 1, "d: is a directory: a file cannot replace it", once},
		{"two over one", "-rT SRC/d SRC/d/c DST/d", 2, "-T gives the copy of one file its name, but there are 2 files to copy", once},
		{"a pattern over one", "-T SRC/d/* DST/d", 1, "", once},
	} {
		for _, command := range []string{"put", "get", "cp"} {
			t.Run(tt.name+" "+command, func(t *testing.T) {
				r := startRig(t)
				local := t.TempDir()
				source, target, here := map[string]string{"get": "@/export", "cp": "@/export", "put": local}[command],
					map[string]string{"get": local, "cp": "@/memory/x", "put": "@/export"}[command],
					map[string]string{"get": local, "put": r.dir}[command]
				at := map[string]string{"get": r.dir, "cp": r.dir, "put": local}[command]
				tree(t, at, "d/c:644:c")
				if command == "cp" {
					done(t, r.exec(t, "tcp", "mkdir", target))
				}
				copies := [][]string{strings.Fields("-r SRC/d DST"), strings.Fields(tt.args)}
				if strings.HasPrefix(tt.name, "another name ") {
					copies[1] = strings.Fields("-r SRC/d DST/new")
					copies = append(copies, strings.Fields(tt.args))
				}
				if strings.Contains(tt.args, "*") && command == "put" {
					return // which the shell does
				}
				var got outcome
				for i, args := range copies {
					for i := range args {
						args[i] = strings.NewReplacer("SRC", source, "DST", target).Replace(args[i])
					}
					if got = r.exec(t, "tcp", append([]string{command}, args...)...); i < len(copies)-1 {
						done(t, got)
					}
				}
				if got.code != tt.code || !strings.Contains(got.stderr, tt.stderr) || tt.code == 0 && tt.stderr == "" && got.stderr != "" {
					t.Errorf("got %+v, want exit %d and %q", got, tt.code, tt.stderr)
				}
				if here == "" {
					here = filepath.Join(t.TempDir(), "down")
					done(t, r.exec(t, "tcp", "get", "-r", target, here))
				}
				if got := rig.TreeOf(t, here); got != tt.want {
					t.Errorf("got\n%swant\n%s", got, tt.want)
				}
			})
		}
	}
}

// TestGetTargetHere: without a target, get copies into the current directory, whatever its name is.
func TestGetTargetHere(t *testing.T) {
	r := startRig(t)
	tree(t, r.dir, "d/c:644:c")
	here := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	done(t, r.exec(t, "tcp", "get", "-r", "@/export/d"))
	done(t, r.exec(t, "tcp", "get", "-r", "@/export/d"))
	done(t, r.exec(t, "tcp", "get", "-rT", "@/export/d"))
	want := `-rw-r--r-- "c" "c"` + "\n" + `drwxr-xr-x "d"` + "\n" + `-rw-r--r-- "d/c" "c"` + "\n"
	if got := rig.TreeOf(t, here); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
