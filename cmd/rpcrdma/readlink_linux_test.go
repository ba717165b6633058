package main

import (
	"testing"
)

func TestReadlink(t *testing.T) {
	runCommandTests(t, []commandTest{
		{name: "links", files: []string{"a -> b", "b -> a", "l -> /x/\xff y?", "d/l -> ../.."}, args: "readlink @/export/a @/export/b @/export/l @/export/d/l",
			stdout: "b\na\n/x/\xff y?\n../..\n"},
		{name: "others", files: []string{"a=1", "l -> d", "d/"}, args: "readlink @/export/a @/export/d @/export/none @/export/l @/export @/export/l/", code: 1, stdout: "d\n",
			stderr: "readlink @/export/a: not a symbolic link\nreadlink @/export/d: not a symbolic link\nreadlink @/export/none: no such file or directory\n" +
				"readlink @/export: not a symbolic link\nreadlink @/export/l/: not a symbolic link\n"},
	})
}
