//go:build interop

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// TestKnfsdRestart restarts the kernel's server, and cuts connections, while commands are at work.
func TestKnfsdRestart(t *testing.T) {
	t.Parallel()
	pcap := filepath.Join(evidence.Dir(t), "pcap")
	k := bootKnfsd(t, machine{Capture: pcap})
	for _, scheme := range schemes {
		k.stopped(t, scheme, func(t *testing.T) passage { return k.byProxy(t, scheme) })
	}
	t.Run("cut transfers", k.cutTransfers)
	t.Run("cut changes", k.cutChanges)
	t.Run("cut commands", k.cutCommands)
	// it was writing to one that was cut
	k.end(t, `rpc-srv/tcp: nfsd: (sent \d+|got error -\d+) when sending \d+ bytes - shutting down socket`)
	checkCutCapture(t, pcap, rdmaPort, mountPort)
}

// Interrupted transfers move moved bytes, and are interrupted at about heldAt.
const (
	moved  = 24<<20 + 1
	heldAt = 5<<20 + 17
)

// passage is a way to the server that is slow enough to interrupt transfers.
type passage struct {
	size int // bytes of a transfer
	url  func(path string) string
	stop func(t *testing.T) // stops the server in the middle of a transfer
}

// byProxy is a passage through a proxy. The connection must end before the server stops, because
// the server's threads do not end while they wait for a client to answer an RDMA Read.
func (k *knfsd) byProxy(t *testing.T, scheme string) passage {
	t.Helper()
	p := newHoldingProxy(t, map[string]int{"rdma": k.RDMA, "tcp": k.TCP}[scheme], heldAt)
	return passage{
		size: moved,
		url:  func(path string) string { return k.urlBy(scheme, p.port(), path) },
		stop: func(t *testing.T) {
			t.Helper()
			p.interrupt(t)
			defer p.release()
			k.sh[0].run(t, knfsdStop)
		},
	}
}

// stopped stops the server in the middle of transfers. Some commands wait for it, others do not.
func (k *knfsd) stopped(t *testing.T, by string, passage func(t *testing.T) passage) {
	t.Run("put waits "+by, func(t *testing.T) { k.putWaits(t, passage(t)) })
	t.Run("get waits "+by, func(t *testing.T) { k.getWaits(t, passage(t)) })
	t.Run("put fails "+by, func(t *testing.T) { k.putFails(t, passage(t)) })
	t.Run("get fails "+by, func(t *testing.T) { k.getFails(t, passage(t)) })
}

// putWaits stops the server in the middle of a put, which goes on when the server is back.
func (k *knfsd) putWaits(t *testing.T, p passage) {
	data := random(t, p.size)
	file := localFile(t, data)
	r := startCommand(t, nil, "put", "--wait", "10m", file, p.url(open+"/waited"))
	p.stop(t)
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
func (k *knfsd) putFails(t *testing.T, p passage) {
	file := localFile(t, random(t, p.size))
	r := startCommand(t, nil, "put", "--wait", "0", file, p.url(open+"/failed"))
	p.stop(t)
	got := r.wait(t)
	t.Logf("exit %d: %s", got.code, got.stderr)
	if got.code != 1 || !strings.Contains(got.stderr, open+"/failed: ") {
		t.Errorf("put: exit %d\n%s", got.code, got.stderr)
	}
	// The part written so far could not be removed.
	k.guestSays(t, "nothing", "[ -e /export/failed ] || echo nothing; rm -f /export/.rpcrdma-*")
	k.sh[0].run(t, knfsdStart)
}

// getWaits stops the server in the middle of a get, which goes on when the server is back.
func (k *knfsd) getWaits(t *testing.T, p passage) {
	data := random(t, p.size)
	k.put("data", data)
	k.sh[0].run(t, "cp /host/data /export/source")
	dir := t.TempDir()
	r := startCommand(t, nil, "get", "--wait", "10m", p.url(open+"/source"), dir)
	p.stop(t)
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
func (k *knfsd) getFails(t *testing.T, p passage) {
	dir := t.TempDir()
	r := startCommand(t, nil, "get", "--wait", "0", p.url(open+"/source"), dir)
	p.stop(t)
	got := r.wait(t)
	t.Logf("exit %d: %s", got.code, got.stderr)
	if got.code != 1 || !strings.Contains(got.stderr, open+"/source: ") {
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

// repliesKept returns how often the server has answered from its reply cache.
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

// cutCommands makes many changes while connections are reset and replies are lost.
func (k *knfsd) cutCommands(t *testing.T) {
	p := newGuestProxy(t, k.RDMA, fromServer, 10_000, 20_000, 30_000, 40_000, 60_000)
	url := func(path string) string { return k.urlBy("rdma", p.port(), path) }
	k.changesOnce(t, url, func(*running) {})
	p.wait(t)
}

// changesOnce makes many changes with commands. Each is made exactly once, whatever happens
// meanwhile.
func (k *knfsd) changesOnce(t *testing.T, url func(path string) string, meanwhile func(*running)) {
	const n = 100
	in := func(name string) string { return url(open + "/changes" + name) }
	all := func(command string, prefix string, more ...string) {
		t.Helper()
		args := []string{command}
		for i := range n {
			args = append(args, in(fmt.Sprintf("/%s-%d", prefix, i)))
		}
		r := startCommand(t, nil, append(args, more...)...)
		meanwhile(r)
		if got := r.wait(t); got.code != 0 {
			t.Errorf("%s: exit %d\n%s", command, got.code, got.stderr)
		}
	}
	k.sh[0].run(t, "mkdir /export/changes /export/changes/to")
	all("mkdir", "dir")
	all("mv", "dir", in("/to"))
	k.guestSays(t, fmt.Sprint(n), "ls -A /export/changes/to | wc -l")
	k.guestSays(t, "to", "ls -A /export/changes")
	all("rm", "to/dir", "-r")
	k.guestSays(t, "", "ls -A /export/changes/to")
}
