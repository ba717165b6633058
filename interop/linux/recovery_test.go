//go:build interop

package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// writeScript writes /host/data, with a sync every MiB, and compares the file with it afterwards.
const writeScript = `
set -e
cd %s
i=0
while [ $i -lt %d ]; do
	dd if=/host/data of=file bs=1M skip=$i seek=$i count=1 conv=notrunc,fsync status=none
	i=$((i + 1))
done
sync
echo 3 >/proc/sys/vm/drop_caches
cmp /host/data file
echo "SUM $(sha256sum <file)"
`

// changesScript makes changes that cannot be repeated, until there is a file "stop". It fails if a
// change is reported to have failed.
const changesScript = `
set -e
mkdir -p %[1]s/changes
cd %[1]s/changes
i=0
while ! [ -e /tmp/stop ]; do
	i=$((i + 1))
	mkdir dir-$i
	echo $i >file-$i
	ln file-$i link-$i
	ln -s file-$i symlink-$i
	mv file-$i dir-$i/file
	mv dir-$i moved-$i
	[ "$(cat moved-$i/file)" = $i ]
	rm link-$i symlink-$i moved-$i/file
	rmdir moved-$i
done
[ "$(ls -A)" = "" ]
echo "CHANGES $i"
`

// TestRecovery takes one guest through a server that is killed, and connections that are cut.
func TestRecovery(t *testing.T) {
	t.Parallel()
	data := random(t, 16<<20)
	pcap := filepath.Join(evidence.Dir(t), "pcap")
	g, sh := bootShells(t, machine{Capture: pcap}, 2)
	g.put("data", data)
	cut := exports[1:]
	if *full {
		cut = exports
	}
	var captured []ports
	part := func(name string, test func(*testing.T) []ports) {
		if !t.Run(name, func(t *testing.T) { captured = append(captured, test(t)...) }) {
			t.FailNow() // something may still be under way in the guest
		}
	}
	part("restart", func(t *testing.T) []ports { return restart(t, sh[0], data) })
	for _, export := range cut {
		part("cut"+export, func(t *testing.T) []ports { return cutConnections(t, sh, export, data) })
	}
	g.closeShells(sh)
	g.wait(t)
	for _, p := range captured {
		checkCutCapture(t, pcap, p.rdma, p.tcp)
	}
}

// ports are the ports of calls over RDMA and over TCP in a capture.
type ports struct{ rdma, tcp int }

// restart kills the server while Linux writes, and starts it again. The writer notices nothing.
func restart(t *testing.T, sh *shell, data []byte) []ports {
	s := serve(t)
	m := s.mount(t, sh, directory, "wsize=32768,rsize=32768")
	sh.start(t, fmt.Sprintf(writeScript, m.at, len(data)>>20))
	file := filepath.Join(s.dir, "file")
	for _, at := range []int64{3 << 20, 9<<20 + 5} {
		awaitSize(t, file, at)
		s.Kill()
		s.Restart()
		t.Logf("the server was killed when the file had %d MiB", at>>20)
	}
	t.Log("SHA-256 ", sh.await(t, "SUM "))
	sh.finish(t)
	c := m.counters(t)
	t.Logf("%+v", c)
	if c.Connects < 3 {
		t.Errorf("%d connections, want 3", c.Connects)
	}
	m.unmount(t)
	checkFile(t, file, data)
	s.stop(t)
	return []ports{{s.RDMA, s.TCP}}
}

// cutConnections resets the connections in the middle of writes, of reads and of changes. No
// program notices anything. A change whose reply was lost must not be made again.
func cutConnections(t *testing.T, sh []*shell, export string, data []byte) (captured []ports) {
	s := serve(t)
	for _, tt := range []struct {
		name  string
		proxy *proxy
		data  bool // is moved, too
	}{
		{"data", newProxy(t, s.RDMA, bothWays, 1<<20+1, 6<<20+77, 24<<20), true},
		{"replies", newProxy(t, s.RDMA, fromServer, 20_000, 60_000, 90_000, 120_000), false},
	} {
		captured = append(captured, ports{tt.proxy.port(), s.TCP})
		ok := t.Run(tt.name, func(t *testing.T) {
			m := s.mountBy(t, sh[0], tt.proxy.port(), export)
			sh[0].run(t, "rm -f /tmp/stop")
			sh[1].start(t, fmt.Sprintf(changesScript, m.at))
			if tt.data {
				sh[0].run(t, fmt.Sprintf(writeScript, m.at, len(data)>>20))
			}
			tt.proxy.wait(t)
			sh[0].run(t, "touch /tmp/stop")
			t.Logf("changes: %s", sh[1].await(t, "CHANGES "))
			sh[1].finish(t)
			c := m.counters(t)
			t.Logf("%+v", c)
			if n := len(tt.proxy.cutAt) + 1; c.Connects < n {
				t.Errorf("%d connections, want %d", c.Connects, n)
			}
			m.unmount(t)
		})
		if !ok {
			t.FailNow() // something may still be under way in the guest
		}
	}
	if export == directory {
		checkFile(t, filepath.Join(s.dir, "file"), data)
	}
	s.stop(t)
	return captured
}

// awaitSize waits until a file has so many bytes.
func awaitSize(t *testing.T, file string, size int64) {
	t.Helper()
	for deadline := time.Now().Add(silence); ; time.Sleep(10 * time.Millisecond) {
		info, err := os.Stat(file)
		switch {
		case err == nil && info.Size() >= size:
			return
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		case time.Now().After(deadline):
			t.Fatalf("%s has not reached %d bytes", file, size)
		}
	}
}
