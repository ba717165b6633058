package main

import (
	"testing"
)

func TestMv(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "rename", files: []string{"a=1"}, args: "mv @/export/a @/export/b", tree: []string{`-rw-r--r-- "b" "1"`}},
		{name: "replace", files: []string{"a=1", "b=2"}, args: "mv @/export/a @/export/b", tree: []string{`-rw-r--r-- "b" "1"`}},
		{name: "no clobber", files: []string{"a=1", "b=2"}, args: "mv -n @/export/a @/export/b"},
		{name: "into a directory", files: []string{"a=1", "b=2", "d/a=3"}, args: "mv @/export/a @/export/b @/export/d",
			tree: []string{`drwxr-xr-x "d"`, `-rw-r--r-- "d/a" "1"`, `-rw-r--r-- "d/b" "2"`}},
		{name: "into the export", files: []string{"d/a=3"}, args: "mv @/export/d/a @/export/", tree: []string{`-rw-r--r-- "a" "3"`, `drwxr-xr-x "d"`}},
		{name: "into where a link leads", files: []string{"a=1", "d/", "l -> d"}, args: "mv @/export/a @/export/l",
			tree: []string{`drwxr-xr-x "d"`, `-rw-r--r-- "d/a" "1"`, `L "l" -> "d"`}},
		{name: "to a link to a directory", files: []string{"a=1", "d/", "l -> d"}, args: "mv -T @/export/a @/export/l",
			tree: []string{`drwxr-xr-x "d"`, `-rw-r--r-- "l" "1"`}},
		{name: "to a link out", files: []string{"a=1", "l -> /etc/passwd"}, args: "mv @/export/a @/export/l", tree: []string{`-rw-r--r-- "l" "1"`}},
		{name: "to a link up and out", files: []string{"a=1", "l -> ../../x"}, args: "mv -T @/export/a @/export/l", tree: []string{`-rw-r--r-- "l" "1"`}},
		{name: "to a link to a directory out", files: []string{"a=1", "l -> /etc"}, args: "mv @/export/a @/export/l", tree: []string{`-rw-r--r-- "l" "1"`}},
		{name: "to a loop", files: []string{"a=1", "l -> l"}, args: "mv @/export/a @/export/l", tree: []string{`-rw-r--r-- "l" "1"`}},
		{name: "to a link out, no clobber", files: []string{"a=1", "l -> /etc/passwd"}, args: "mv -n @/export/a @/export/l"},
		{name: "several to a link out", files: []string{"a=1", "b=1", "l -> /etc"}, args: "mv @/export/a @/export/b @/export/l", code: 1,
			stderr: "mv @/export/l: not a directory\n"},
		{name: "below nothing", files: []string{"a=1"}, args: "mv @/export/a @/export/none/b", code: 1, stderr: "mv @/export/none/b: no such file or directory\n"},
		{name: "dots", files: []string{"d/e/"}, args: "mv @/export/d/. @/export/d/e/%2e%2E/ @/export", code: 1,
			stderr: "mv @/export/d/.: the URL must end with the name of the file, not '.' or '..'\n" +
				"mv @/export/d/e/%2e%2E/: the URL must end with the name of the file, not '.' or '..'\n"},
		{name: "into dots", files: []string{"d/e/a=1"}, args: "mv @/export/d/e/a @/export/d/e/..", tree: []string{`drwxr-xr-x "d"`, `-rw-r--r-- "d/a" "1"`, `drwxr-xr-x "d/e"`}},
		{name: "directory", files: []string{"d/a=1"}, args: "mv @/export/d @/export/e/", tree: []string{`drwxr-xr-x "e"`, `-rw-r--r-- "e/a" "1"`}},
		{name: "over an empty directory", files: []string{"d/a=1", "e/"}, args: "mv -T @/export/d @/export/e",
			tree: []string{`drwxr-xr-x "e"`, `-rw-r--r-- "e/a" "1"`}},
		{name: "over a full directory", files: []string{"d/a=1", "e/b=1"}, args: "mv -T @/export/d @/export/e", code: 1,
			stderr: "mv @/export/d: @/export/e: directory not empty\n"},
		{name: "file over a directory", files: []string{"a=1", "d/a/"}, args: "mv @/export/a @/export/d", code: 1,
			stderr: "mv @/export/a: @/export/d/a: is a directory\n"},
		{name: "directory over a file", files: []string{"a=1", "d/"}, args: "mv @/export/d @/export/a", code: 1,
			stderr: "mv @/export/d: @/export/a: not a directory\n"},
		{name: "into itself", files: []string{"d/e/"}, args: "mv @/export/d @/export/d/e", code: 1,
			stderr: "mv @/export/d: a directory cannot be moved into itself: @/export/d/e/d\n"},
		{name: "the same", files: []string{"a=1"}, args: "mv @/export/a @/export/a", code: 1, stderr: "mv @/export/a: that is the same file\n"},
		{name: "the same by way of its directory", files: []string{"d/a=1"}, args: "mv @/export/d/a @/export/d", code: 1, stderr: "mv @/export/d/a: that is the same file\n"},
		{name: "links, not what they lead to", files: []string{"d/a=1", "l -> d"}, args: "mv @/export/l @/export/m",
			tree: []string{`drwxr-xr-x "d"`, `-rw-r--r-- "d/a" "1"`, `L "m" -> "d"`}},
		{name: "several, some missing", files: []string{"a=1", "c=3", "d/"}, args: "mv @/export/a @/export/b @/export/c @/export/d", code: 1,
			stderr: "mv @/export/b: no such file or directory\n", tree: []string{`drwxr-xr-x "d"`, `-rw-r--r-- "d/a" "1"`, `-rw-r--r-- "d/c" "3"`}},
		{name: "several to no directory", files: []string{"a=1", "b=2", "c=3"}, args: "mv @/export/a @/export/b @/export/c", code: 1,
			stderr: "mv @/export/c: not a directory\n"},
		{name: "several to nothing", files: []string{"a=1", "b=2"}, args: "mv @/export/a @/export/b @/export/c", code: 1,
			stderr: "mv @/export/c: not a directory\n"},
		{name: "file with a slash", files: []string{"a=1"}, args: "mv @/export/a/ @/export/b", code: 1, stderr: "mv @/export/a/: not a directory\n"},
		{name: "file to a slash", files: []string{"a=1"}, args: "mv @/export/a @/export/b/", code: 1, stderr: "mv @/export/a: not a directory\n"},
		{name: "root", files: []string{"d/"}, args: "mv @/export @/export/d/e", code: 1, stderr: "mv @/export: that is the root of the export\n"},
		{name: "root into a directory", files: []string{"d/"}, args: "mv @/export @/export/d", code: 1, stderr: "mv @/export: that is the root of the export\n"},
		{name: "another export", files: []string{"a=1"}, args: "mv @/export/a @/memory/a", code: 1,
			stderr: "mv @/export/a: not in the same export of the same server as @/memory/a: use cp\n"},
		{name: "one URL", args: "mv @/export/a", code: 2,
			stderr: "rpcrdma: too few arguments: the last one names the target\nRun 'rpcrdma mv --help' for usage.\n"},
		{name: "names", files: []string{"-T=1", "\xff?=2", "d/"}, args: "mv @/export/-T @/export/%FF%3F @/export/d",
			tree: []string{`drwxr-xr-x "d"`, `-rw-r--r-- "d/-T" "1"`, `-rw-r--r-- "d/\xff?" "2"`}},
	})
}

// TestMvLinkedTwice: moving one of two hard links over the other removes the first.
func TestMvLinkedTwice(t *testing.T) {
	runScript(t, []step{
		{args: "touch @/memory/a"},
		{args: "ln @/memory/a @/memory/b"},
		{args: "mv @/memory/a @/memory/b"},
		{args: "ls @/memory", stdout: "b\n"},
	})
}
