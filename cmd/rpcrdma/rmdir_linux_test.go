package main

import (
	"testing"
)

func TestRmdir(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "several, one with something in it", files: []string{"d/", "e/f/", "g/", "a=1", "l -> g"}, code: 1,
			args: "rmdir @/export/d @/export/e @/export/g/ @/export/a @/export/none",
			stderr: "rmdir @/export/e: directory not empty\nrmdir @/export/a: not a directory\n" +
				"rmdir @/export/none: no such file or directory\n",
			tree: []string{`-rw-r--r-- "a" "1"`, `drwxr-xr-x "e"`, `drwxr-xr-x "e/f"`, `L "l" -> "g"`}},
		{name: "link", files: []string{"d/", "l -> d"}, args: "rmdir @/export/l", code: 1,
			stderr: "rmdir @/export/l: not a directory\n"},
		{name: "root and dots", files: []string{"d/e/"}, args: "rmdir @/export @/export/d/. @/export/d/e/..", code: 1,
			stderr: "rmdir @/export: that is the root of the export\nrmdir @/export/d/.: refusing to remove '.' or '..'\n" +
				"rmdir @/export/d/e/..: refusing to remove '.' or '..'\n"},
		{name: "no URL", args: "rmdir", code: 2,
			stderr: "rpcrdma: no URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma rmdir --help' for usage.\n"},
	})
}
