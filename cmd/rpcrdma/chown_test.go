package main

import (
	"testing"
)

func TestChown(t *testing.T) {
	runScript(t, []step{
		{args: "mkdir -p -m 755 @/memory/d/e"},
		{args: "chmod 755 @/memory/d"},
		{args: "touch @/memory/d/f @/memory/out"},
		{args: "chmod 644 @/memory/d/f @/memory/out"},
		{args: "ln -s ../out @/memory/d/l"},
		{args: "chown 1:2 @/memory/d @/memory/d/e @/memory/d/f @/memory/out"},
		{args: "chown -h 1:2 @/memory/d/l"},
		{args: "touch -d 2006-01-02T15:04:05Z @/memory/d/e @/memory/d/f @/memory/out"},
		{args: "ls -l @/memory/d/f @/memory/out", stdout: "-rw-r--r-- 1 1 2 0 TIME @/memory/d/f\n-rw-r--r-- 1 1 2 0 TIME @/memory/out\n"},

		{args: "chown 3 @/memory/d/f"},
		{args: "chown :4 @/memory/out"},
		{args: "ls -l @/memory/d/f @/memory/out", stdout: "-rw-r--r-- 1 3 2 0 TIME @/memory/d/f\n-rw-r--r-- 1 1 4 0 TIME @/memory/out\n"},
		{args: "chown 5:6 @/memory/d/l"},
		{args: "ls -l @/memory/out", stdout: "-rw-r--r-- 1 5 6 0 TIME @/memory/out\n"},
		{args: "chown -R 7:8 @/memory/d"},
		{args: "ls -l @/memory/out @/memory/d/f", stdout: "-rw-r--r-- 1 7 8 0 TIME @/memory/d/f\n-rw-r--r-- 1 5 6 0 TIME @/memory/out\n"},
		{args: "ls -ld @/memory/d/e", stdout: "drwxr-xr-x 2 7 8 4096 TIME @/memory/d/e\n"},
		{args: "chown 0:4294967294 @/memory/none @/memory/out", code: 1, stderr: "chown @/memory/none: no such file or directory\n"},
		{args: "ls -l @/memory/out", stdout: "-rw-r--r-- 1 0 4294967294 0 TIME @/memory/out\n"},

		{args: "chown", code: 2, stderr: "rpcrdma: no owner: write UID, UID:GID or :GID\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown 1", code: 2, stderr: "rpcrdma: no URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown root @/memory/out", code: 2,
			stderr: "rpcrdma: user root: write a number from 0 to 4294967294: 'id -u NAME' tells that of a user\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown 1:staff @/memory/out", code: 2,
			stderr: "rpcrdma: group staff: write a number from 0 to 4294967294: 'getent group NAME' tells that of a group\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown 1: @/memory/out", code: 2, stderr: "rpcrdma: 1:: write UID, UID:GID or :GID\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown : @/memory/out", code: 2, stderr: "rpcrdma: :: write UID, UID:GID or :GID\nRun 'rpcrdma chown --help' for usage.\n"},
	})
}
