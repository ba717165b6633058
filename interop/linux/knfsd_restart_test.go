//go:build interop

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestKnfsdRestart stops the kernel's server, and starts it again, and cuts connections, while commands are at work.
func TestKnfsdRestart(t *testing.T) {
	t.Parallel()
	pcap := filepath.Join(t.TempDir(), "pcap")
	k := bootKnfsd(t, 1, pcap)
	for _, scheme := range schemes {
		t.Run("put waits "+scheme, func(t *testing.T) { k.putWaits(t, scheme) })
		t.Run("get waits "+scheme, func(t *testing.T) { k.getWaits(t, scheme) })
		t.Run("put fails "+scheme, func(t *testing.T) { k.putFails(t, scheme) })
		t.Run("get fails "+scheme, func(t *testing.T) { k.getFails(t, scheme) })
	}
	t.Run("cut transfers", k.cutTransfers)
	t.Run("cut changes", k.cutChanges)
	t.Run("cut commands", k.cutCommands)
	k.end(t, `rpc-srv/tcp: nfsd: (sent \d+|got error -\d+) when sending \d+ bytes - shutting down socket`) // it was writing to one that was cut
	checkCutCapture(t, pcap, rdmaPort, mountPort)
}

// moved is how much data is, in the transfers that are interrupted, and heldAt when they are.
const (
	moved  = 24<<20 + 1
	heldAt = 5<<20 + 17
)

// stopWhen stops the server in the middle of what a command does through a proxy. The connection must end first: the
// server's threads do not, while they wait for a client to answer an RDMA Read.
func (k *knfsd) stopWhen(t *testing.T, p *proxy) {
	t.Helper()
	p.interrupt(t)
	defer p.release()
	k.sh[0].run(t, knfsdStop)
}

// holding is a proxy for a transfer.
func (k *knfsd) holding(t *testing.T, scheme string) *proxy {
	t.Helper()
	return newHoldingProxy(t, map[string]int{"rdma": k.RDMA, "tcp": k.TCP}[scheme], heldAt)
}

// putWaits stops the server in the middle of a put, which goes on when the server is back.
func (k *knfsd) putWaits(t *testing.T, scheme string) {
	data := random(t, moved)
	file := localFile(t, data)
	p := k.holding(t, scheme)
	r := startCommand(t, nil, "put", "--wait", "10m", file, k.urlBy(scheme, p.port(), open+"/waited"))
	k.stopWhen(t, p)
	r.await(t, "does not respond")
	k.guestSays(t, "not yet", "[ -e /export/waited ] || echo not yet")
	k.sh[0].run(t, knfsdStart)
	if got := r.wait(t); got.code != 0 || !strings.Contains(got.stderr, "is back") {
		t.Errorf("put: exit %d\n%s", got.code, got.stderr)
	}
	k.checkSum(t, "/export/waited", data)
	k.guestSays(t, "waited", "cd /export && ls -A && rm waited") // and no temporary file
}

// putFails stops the server in the middle of a put that does not wait.
func (k *knfsd) putFails(t *testing.T, scheme string) {
	file := localFile(t, random(t, moved))
	p := k.holding(t, scheme)
	url := k.urlBy(scheme, p.port(), open+"/failed")
	r := startCommand(t, nil, "put", "--wait", "0", file, url)
	k.stopWhen(t, p)
	got := r.wait(t)
	t.Logf("exit %d: %s", got.code, got.stderr)
	if name, _, _ := strings.Cut(url, "?"); got.code != 1 || !strings.Contains(got.stderr, "rpcrdma put "+name+": ") {
		t.Errorf("put: exit %d\n%s", got.code, got.stderr)
	}
	// What has been written nobody could remove.
	k.guestSays(t, "nothing", "[ -e /export/failed ] || echo nothing; rm -f /export/.rpcrdma-*")
	k.sh[0].run(t, knfsdStart)
}

// getWaits stops the server in the middle of a get, which goes on when the server is back.
func (k *knfsd) getWaits(t *testing.T, scheme string) {
	data := random(t, moved)
	k.put("data", data)
	k.sh[0].run(t, "cp /host/data /export/source")
	p, dir := k.holding(t, scheme), t.TempDir()
	r := startCommand(t, nil, "get", "--wait", "10m", k.urlBy(scheme, p.port(), open+"/source"), dir)
	k.stopWhen(t, p)
	r.await(t, "does not respond")
	if _, err := os.Stat(filepath.Join(dir, "source")); !os.IsNotExist(err) {
		t.Errorf("before the server is back: %v", err)
	}
	k.sh[0].run(t, knfsdStart)
	if got := r.wait(t); got.code != 0 || !strings.Contains(got.stderr, "is back") {
		t.Errorf("get: exit %d\n%s", got.code, got.stderr)
	}
	checkFile(t, filepath.Join(dir, "source"), data)
}

// getFails stops the server in the middle of a get that does not wait.
func (k *knfsd) getFails(t *testing.T, scheme string) {
	p, dir := k.holding(t, scheme), t.TempDir()
	url := k.urlBy(scheme, p.port(), open+"/source")
	r := startCommand(t, nil, "get", "--wait", "0", url, dir)
	k.stopWhen(t, p)
	got := r.wait(t)
	t.Logf("exit %d: %s", got.code, got.stderr)
	if name, _, _ := strings.Cut(url, "?"); got.code != 1 || !strings.Contains(got.stderr, "rpcrdma get "+name+": ") {
		t.Errorf("get: exit %d\n%s", got.code, got.stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left there: %v, %v", left, err)
	}
	k.sh[0].run(t, "rm /export/source\n"+knfsdStart)
}

// localFile makes a file of this machine.
func localFile(t *testing.T, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// repliesKept returns how often the server has answered out of its cache of replies.
func (k *knfsd) repliesKept(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(k.sh[0].run(t, "sed -n 's/^rc \\([0-9]*\\) .*/\\1/p' /proc/net/rpc/nfsd"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cutTransfers resets the connections in the middle of a put and of a get.
func (k *knfsd) cutTransfers(t *testing.T) {
	data := random(t, moved)
	file := localFile(t, data)
	p := newGuestProxy(t, k.RDMA, bothWays, 1<<20+1, 6<<20+77, 15<<20)
	if got := startCommand(t, nil, "put", file, k.urlBy("rdma", p.port(), open+"/cut")).wait(t); got.code != 0 {
		t.Errorf("put: exit %d\n%s", got.code, got.stderr)
	}
	p.wait(t)
	k.checkSum(t, "/export/cut", data)
	p = newGuestProxy(t, k.RDMA, bothWays, 1<<20+1, 6<<20+77, 15<<20)
	dir := t.TempDir()
	if got := startCommand(t, nil, "get", k.urlBy("rdma", p.port(), open+"/cut"), dir).wait(t); got.code != 0 {
		t.Errorf("get: exit %d\n%s", got.code, got.stderr)
	}
	p.wait(t)
	checkFile(t, filepath.Join(dir, "cut"), data)
}

// cutCommands has commands make many changes while connections are reset and replies lost: each change is made once.
func (k *knfsd) cutCommands(t *testing.T) {
	const n = 100
	p := newGuestProxy(t, k.RDMA, fromServer, 10_000, 20_000, 30_000, 40_000, 60_000)
	url := func(name string) string { return k.urlBy("rdma", p.port(), open+"/changes"+name) }
	all := func(command string, prefix string, more ...string) {
		t.Helper()
		args := []string{command}
		for i := range n {
			args = append(args, url(fmt.Sprintf("/%s-%d", prefix, i)))
		}
		if got := startCommand(t, nil, append(args, more...)...).wait(t); got.code != 0 {
			t.Errorf("%s: exit %d\n%s", command, got.code, got.stderr)
		}
	}
	k.sh[0].run(t, "mkdir /export/changes /export/changes/to")
	all("mkdir", "dir")
	all("mv", "dir", url("/to"))
	k.guestSays(t, fmt.Sprint(n), "ls -A /export/changes/to | wc -l")
	k.guestSays(t, "to", "ls -A /export/changes")
	all("rm", "to/dir", "-r")
	p.wait(t)
	k.guestSays(t, "", "ls -A /export/changes/to")
}
