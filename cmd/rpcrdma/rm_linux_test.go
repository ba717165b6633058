package main

import (
	"testing"
)

func TestRm(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "file", files: []string{"a=1", "b=2"}, args: "rm @/export/a", tree: []string{`-rw-r--r-- "b" "2"`}},
		{name: "several, one missing", files: []string{"a=1", "c=3"}, args: "rm @/export/a @/export/b @/export/c", code: 1,
			stderr: "rm @/export/b: no such file or directory\n", tree: []string{}},
		{name: "force", files: []string{"a=1"}, args: "rm -f @/export/b @/export/a @/export/x/y @/export/a/b", tree: []string{}},
		{name: "force nothing", args: "rm -f"},
		{name: "link", files: []string{"dir/a=1", "l -> dir"}, args: "rm -r @/export/l", tree: []string{`drwxr-xr-x "dir"`, `-rw-r--r-- "dir/a" "1"`}},
		{name: "link with a slash", files: []string{"dir/a=1", "l -> dir"}, args: "rm -r @/export/l/", code: 1,
			stderr: "rm @/export/l/: not a directory\n"},
		{name: "directory", files: []string{"dir/"}, args: "rm @/export/dir", code: 1,
			stderr: "rm @/export/dir: is a directory: use -d if it is empty, or -r to remove all that is in it\n"},
		{name: "tree", files: []string{"x=1", "dir/a=1", "dir/b/c=2", "dir/b/.h=2", "dir/l -> /etc", "dir/m -> ../x", "dir/e/", "0555 dir/e", "0400 dir/a"},
			args: "rm -r @/export/dir", tree: []string{`-rw-r--r-- "x" "1"`}},
		{name: "tree with a slash", files: []string{"dir/a=1"}, args: "rm -r @/export/dir/", tree: []string{}},
		{name: "loop of links", files: []string{"d/l -> m", "d/m -> l", "d/d -> ."}, args: "rm -r @/export/d", tree: []string{}},
		{name: "below a link", files: []string{"d/a=1", "l -> d"}, args: "rm @/export/l/a", tree: []string{`drwxr-xr-x "d"`, `L "l" -> "d"`}},
		{name: "below a file", files: []string{"a=1"}, args: "rm @/export/a/b", code: 1, stderr: "rm @/export/a/b: not a directory\n"},
		{name: "root", files: []string{"a=1"}, args: "rm -r @/export @/export/", code: 1,
			stderr: "rm @/export: that is the root of the export\nrm @/export/: that is the root of the export\n"},
		{name: "dots", files: []string{"d/e/f/g=1"}, code: 1,
			args: "rm -rf @/export/d/e/. @/export/d/e/f/.. @/export/d/e/f/../ @/export/d/e/%2E @/export/d/.%2e?mountport=1 @/export/..",
			stderr: "rm @/export/d/e/.: refusing to remove '.' or '..'\nrm @/export/d/e/f/..: refusing to remove '.' or '..'\n" +
				"rm @/export/d/e/f/../: refusing to remove '.' or '..'\nrm @/export/d/e/%2E: refusing to remove '.' or '..'\n" +
				"rm @/export/d/.%2e?mountport=1: refusing to remove '.' or '..'\nrm @/export/..: refusing to remove '.' or '..'\n"},
		{name: "dots on the way", files: []string{"d/e/", "d/f=1"}, args: "rm @/export/./d/e/../f", tree: []string{`drwxr-xr-x "d"`, `drwxr-xr-x "d/e"`}},
		{name: "names with dots", files: []string{"d/...=1", "d/..a=1"}, args: "rm @/export/d/... @/export/d/..a", tree: []string{`drwxr-xr-x "d"`}},
		{name: "empty directories", files: []string{"d/", "e/f/", "g=1", "l -> e"}, args: "rm -d @/export/d @/export/e @/export/g @/export/e/f/ @/export/none @/export/l", code: 1,
			stderr: "rm @/export/e: directory not empty\nrm @/export/none: no such file or directory\n", tree: []string{`drwxr-xr-x "e"`}},
		{name: "empty or not", files: []string{"d/a=1"}, args: "rm -dr @/export/d", tree: []string{}},
		{name: "tree, in capitals", files: []string{"d/a=1"}, args: "rm -R @/export/d", tree: []string{}},
		{name: "names", files: []string{"-f=1", "100%=1", "a?b=1", "a#b=1", "a b=1", "a\nb=1", "\xff\xfe=1", "zwölf=1", "a\\b=1"},
			args: "rm @/export/-f @/export/100%25 @/export/a%3Fb @/export/a%23b @/export/a%20b @/export/a%0Ab @/export/%FF%fe @/export/zwölf @/export/a\\b",
			tree: []string{}},
		{name: "no URL", args: "rm", code: 2, stderr: "rpcrdma: no URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma rm --help' for usage.\n"},
		{name: "a wrong URL", files: []string{"a=1"}, args: "rm @/export/a export/b", code: 2,
			stderr: "rpcrdma: export/b: not a URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma rm --help' for usage.\n"},
	})
}
