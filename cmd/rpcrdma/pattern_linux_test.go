package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// TestPatterns: * and [ in a URL match files, unless a file has exactly that name.
func TestPatterns(t *testing.T) {
	logs := []string{"a.log=1", "b.log=2", ".c.log=3", "keep=4"}
	runCommandTests(t, []commandTest{
		{name: "rm", files: logs, args: "rm @/export/*.log",
			tree: []string{`-rw-r--r-- ".c.log" "3"`, `-rw-r--r-- "keep" "4"`}},
		{name: "rm hidden", files: logs, args: "rm @/export/.*.log",
			tree: []string{`-rw-r--r-- "a.log" "1"`, `-rw-r--r-- "b.log" "2"`, `-rw-r--r-- "keep" "4"`}},
		{name: "rm nothing", files: logs, args: "rm -f @/export/*.bin @/export/a.log", code: 1,
			stderr: "rm @/export/*.bin: no file matches\n",
			tree:   []string{`-rw-r--r-- ".c.log" "3"`, `-rw-r--r-- "b.log" "2"`, `-rw-r--r-- "keep" "4"`}},
		{name: "that very name", files: []string{"*=1", "a=2", "[a]=3"}, args: "rm @/export/* @/export/[a]",
			tree: []string{`-rw-r--r-- "a" "2"`}},
		{name: "escaped", files: []string{"a*c=1", "abc=2", "x[1]=3", "x1=4"}, args: "rm @/export/a%2A[c] @/export/x%5B*",
			tree: []string{`-rw-r--r-- "abc" "2"`, `-rw-r--r-- "x1" "4"`}},
		{name: "classes and bytes", files: []string{"a1=1", "a2=2", "a3=3", "ä1=4", "a\\1=5"},
			args: "rm @/export/a[12] @/export/ä* @/export/a\\*", tree: []string{`-rw-r--r-- "a3" "3"`}},
		{name: "directories", files: []string{"d1/x=1", "d2/x=2", "d2/y=3", "d3=4", "e/x=5"}, args: "cat @/export/d*/x",
			stdout: "12"},
		{name: "slash", files: []string{"d1/x=1", "d2=2", "d3/"}, args: "ls -d @/export/d*/", stdout: "@/export/d1/\n@/export/d3/\n"},
		{name: "rmdir", files: []string{"d1/", "d2/", "e/"}, args: "rmdir @/export/d[0-9]", tree: []string{`drwxr-xr-x "e"`}},
		{name: "chmod", files: []string{"a=1", "b=2", "c/"}, args: "chmod 600 @/export/[ab]",
			tree: []string{`-rw------- "a" "1"`, `-rw------- "b" "2"`, `drwxr-xr-x "c"`}},
		{name: "mv", files: []string{"a=1", "b=2", "c/"}, args: "mv @/export/[ab] @/export/c",
			tree: []string{`drwxr-xr-x "c"`, `-rw-r--r-- "c/a" "1"`, `-rw-r--r-- "c/b" "2"`}},
		{name: "mv nothing", files: []string{"a=1"}, args: "mv @/export/x* @/export/c", code: 1,
			stderr: "mv @/export/x*: no file matches\n", tree: []string{`-rw-r--r-- "a" "1"`}},
		{name: "mkdir makes what it says", args: "mkdir @/export/*", tree: []string{`drwxr-xr-x "*"`}},
		{name: "no pattern", files: []string{"a=1"}, args: "rm @/export/[a", code: 1,
			stderr: "rm @/export/[a: a [ without a ]: write %5B for a [ in a name\n"},
		{name: "others than these", files: []string{"k1=1", "k2=2", "ka=3", "k!=4"}, args: "rm @/export/k[!0-9]",
			tree: []string{`-rw-r--r-- "k1" "1"`, `-rw-r--r-- "k2" "2"`}},
		{name: "one of these", files: []string{"k!=1", "k[=2", "ka=3"}, args: "rm @/export/k[a!]",
			tree: []string{`-rw-r--r-- "k[" "2"`}},
		{name: "named class", files: []string{"a=1"}, args: "rm @/export/[[:alpha:]]", code: 1,
			stderr: "rm @/export/[[:alpha:]]: [:alpha:] and the like are not supported: write [a-zA-Z]\n",
			tree:   []string{`-rw-r--r-- "a" "1"`}},
		{name: "exports", args: "ls @/exp*", code: 1,
			stderr: "ls @/exp*: mount refused: no export of 127.0.0.1 holds / (MNT3ERR_NOENT); it exports /memory (to everyone) " +
				"and /export (to everyone); a pattern matches files in an export, not exports\n"},
		{name: "nowhere", args: "rm @/export/none/*", code: 1, stderr: "rm @/export/none/*: no file matches\n"},
	})
}

// TestPatternsCopied: get and cp copy the files that match a pattern.
func TestPatternsCopied(t *testing.T) {
	r := startRig(t)
	tree(t, r.dir, "a.bin:644:a", "b.bin:644:b", "c.txt:644:c", "one/x:644:x", "to/keep:644:k")
	dir := t.TempDir()
	done(t, r.exec(t, "rdma", "get", "@/export/*.bin", dir))
	rig.Holds(t, filepath.Join(dir, "a.bin"), []byte("a"))
	rig.Holds(t, filepath.Join(dir, "b.bin"), []byte("b"))
	done(t, r.exec(t, "tcp", "get", "-r", "@/export/o*", filepath.Join(dir, "new")))
	rig.Holds(t, filepath.Join(dir, "new", "x"), []byte("x"))
	done(t, r.exec(t, "rdma", "cp", "@/export/*.bin", "@/export/to"))
	rig.Holds(t, r.path("to/b.bin"), []byte("b"))
	for args, want := range map[string]string{
		"get @/export/*.none .":        "rpcrdma get @/export/*.none: no file matches\n",
		"get @/export/*.bin ./nothing": "rpcrdma get ./nothing: no such directory\n",
		"cp @/export/*.bin @/export/c": "rpcrdma cp @/export/c: no such directory\n",
		"cp @/export/x* @/export/to":   "rpcrdma cp @/export/x*: no file matches\n",
	} {
		if got := r.exec(t, "rdma", strings.Fields(args)...); got != (outcome{1, "", want}) {
			t.Errorf("%s: got %+v, want %q", args, got, want)
		}
	}
}
