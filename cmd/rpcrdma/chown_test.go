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
		{args: "ls -n @/memory/d/f @/memory/out", stdout: "-rw-r--r-- 1 1 2 0 TIME @/memory/d/f\n-rw-r--r-- 1 1 2 0 TIME @/memory/out\n"},

		{args: "chown 3 @/memory/d/f"},
		{args: "chown :4 @/memory/out"},
		{args: "ls -n @/memory/d/f @/memory/out", stdout: "-rw-r--r-- 1 3 2 0 TIME @/memory/d/f\n-rw-r--r-- 1 1 4 0 TIME @/memory/out\n"},
		{args: "chown 5:6 @/memory/d/l"},
		{args: "ls -n @/memory/out", stdout: "-rw-r--r-- 1 5 6 0 TIME @/memory/out\n"},
		{args: "chown -R 7:8 @/memory/d"},
		{args: "ls -n @/memory/out @/memory/d/f", stdout: "-rw-r--r-- 1 7 8 0 TIME @/memory/d/f\n-rw-r--r-- 1 5 6 0 TIME @/memory/out\n"},
		{args: "ls -nd @/memory/d/e", stdout: "drwxr-xr-x 2 7 8 4096 TIME @/memory/d/e\n"},
		{args: "chown 0:4294967294 @/memory/none @/memory/out", code: 1, stderr: "chown @/memory/none: no such file or directory\n"},
		{args: "ls -n @/memory/out", stdout: "-rw-r--r-- 1 0 4294967294 0 TIME @/memory/out\n"},

		{args: "chown", code: 2, stderr: "rpcrdma: no owner: write USER, USER:GROUP or :GROUP\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown 1", code: 2, stderr: "rpcrdma: no URL: write rdma://HOST/EXPORT/PATH, or tcp://\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown no-such-user @/memory/out", code: 2,
			stderr: "rpcrdma: user no-such-user: this host has no user of that name: write a number, or a name that it has\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown 1:no-such-group @/memory/out", code: 2,
			stderr: "rpcrdma: group no-such-group: this host has no group of that name: write a number, or a name that it has\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown 1: @/memory/out", code: 2, stderr: "rpcrdma: 1:: write USER, USER:GROUP or :GROUP\nRun 'rpcrdma chown --help' for usage.\n"},
		{args: "chown : @/memory/out", code: 2, stderr: "rpcrdma: :: write USER, USER:GROUP or :GROUP\nRun 'rpcrdma chown --help' for usage.\n"},
	})
}
