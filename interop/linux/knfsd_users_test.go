//go:build interop

package linux

import "testing"

// users calls as root, which an export may squash, and as other users.
func (k *knfsd) users(t *testing.T) {
	url := func(path string) string { return k.url("rdma", path) }
	owner := func(want, file string) {
		t.Helper()
		k.guestSays(t, want, "stat -c %u:%g "+file)
	}
	root := []string{"--uid", "0", "--gid", "0"}
	as := func(who []string, args ...string) []string {
		return append(append([]string{args[0]}, who...), args[1:]...)
	}
	user := []string{"--uid", "1000", "--gid", "1001", "--groups", "1002,1003"}

	k.do(t, as(root, "touch", url(open+"/by-root"))...)
	owner("0:0", "/export/by-root")
	k.do(t, as(root, "touch", url(squashed+"/by-root"))...)
	owner("4242:4343", "/squashed/by-root")
	k.do(t, as(user, "touch", url(squashed+"/by-user"))...)
	owner("1000:1001", "/squashed/by-user")

	// Rights by group, and what no group permits.
	k.sh[0].run(t, "cd /export && mkdir users && cd users && echo text >secret && chmod 600 secret && echo text >shared && chown 0:1003 shared && chmod 660 shared && chmod 755 . && mkdir team && chown 0:1002 team && chmod 770 team")
	k.refused(t, "ermission denied to user 1000", as(user, "cat", url(open+"/users/secret"))...)
	k.refused(t, "ermission denied to user 1000", as(user, "touch", url(open+"/users/new"))...)
	if got := k.do(t, as(user, "cat", url(open+"/users/shared"))...); got != "text\n" {
		t.Errorf("cat of what the group may read: %q", got)
	}
	k.do(t, as(user, "mkdir", url(open+"/users/team/dir"))...)
	owner("1000:1001", "/export/users/team/dir")
	k.refused(t, "not permitted to user 1000", as(user, "chown", "1:1", url(open+"/users/team/dir"))...)
	k.refused(t, "not permitted to user 0", as(root, "chown", "1:1", url(squashed+"/by-user"))...)

	// A file that cannot be written leaves nothing.
	k.refused(t, "ermission denied", as(user, "put", command, url(open+"/users/copy"))...)
	k.guestSays(t, "secret shared team", "cd /export/users && echo $(ls -A)")

	// Directories that are not exported to all clients.
	k.refused(t, "ead-only", as(root, "touch", url(readonly+"/new"))...)
	if got := k.do(t, as(user, "cat", url(readonly+"/file"))...); got != "what is in a read-only export\n" {
		t.Errorf("cat of what is read-only: %q", got)
	}
	k.refused(t, "198.51.100.1", as(root, "ls", url(private))...)
	k.refused(t, open, as(root, "ls", url("/none"))...)
}
