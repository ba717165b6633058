package main

import "testing"

// TestNames: users and groups have their names on this host, if they have any.
func TestNames(t *testing.T) {
	runScript(t, []step{
		{args: "touch -d 2006-01-02T15:04:05Z --uid root --gid root --groups root,7 @/memory/f"},
		{args: "chmod 644 @/memory/f"},
		{args: "chown 4123456789:4123456789 @/memory/f"},
		{args: "ls -l @/memory/f", stdout: "-rw-r--r-- 1 4123456789 4123456789 0 TIME @/memory/f\n"},
		{args: "chown root:root @/memory/f"},
		{args: "ls -l @/memory/f", stdout: "-rw-r--r-- 1 root root 0 TIME @/memory/f\n"},
		{args: "ls -n @/memory/f", stdout: "-rw-r--r-- 1 0 0 0 TIME @/memory/f\n"},
		{args: "ls -ln @/memory/f", stdout: "-rw-r--r-- 1 0 0 0 TIME @/memory/f\n"},
		{args: "touch --uid no-such-user @/memory/f", code: 2, stderr: `rpcrdma: invalid argument "no-such-user" for "--uid" flag: ` +
			"this host has no user of that name: write a number, or a name that it has\nRun 'rpcrdma touch --help' for usage.\n"},
	})
}
