//go:build interop

package linux

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// Small files move in RDMA Reads and Writes of one packet or a few. A loss then leaves a Read
// without any response, beside Sends that are repeated. Transfers of large files hardly show that.

// smallFiles are n files of so many bytes each, all different.
type smallFiles struct {
	n, size int
	data    []byte
}

// lossySmall is small files of each size, and the loss at which they move.
type lossySmall struct {
	loss float64
	n    int
}

// run runs a test with the files of each size.
func (l lossySmall) run(t *testing.T, test func(t *testing.T, f smallFiles)) {
	for _, size := range []int{1024, 4096} {
		t.Run(fmt.Sprintf("%d of %d, %v lost", l.n, size, l.loss), func(t *testing.T) {
			test(t, smallFiles{n: l.n, size: size, data: random(t, l.n*size)})
		})
	}
}

func (s *smallFiles) file(i int) (name string, data []byte) {
	return fmt.Sprintf("file-%d", i), s.data[i*s.size : (i+1)*s.size]
}

// write makes the files in a new directory.
func (s *smallFiles) write(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range s.n {
		name, data := s.file(i)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sums returns a file for sha256sum -c.
func (s *smallFiles) sums() []byte {
	var b bytes.Buffer
	for i := range s.n {
		name, data := s.file(i)
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return b.Bytes()
}

// check compares the files in a directory of this machine.
func (s *smallFiles) check(t *testing.T, dir string) {
	t.Helper()
	wrong := 0
	for i := range s.n {
		name, want := s.file(i)
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			wrong++
			t.Logf("%s has %d bytes, not the right ones; error %v", name, len(got), err)
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d files are wrong", wrong, s.n)
	}
}

// checkIn compares the files in a directory of the guest, whose /host has the sums.
func (s *smallFiles) checkIn(t *testing.T, sh *shell, dir string) {
	t.Helper()
	out := sh.run(t, fmt.Sprintf(`cd %s
for k in %s; do
	grep "$k\$" /host/sums | sha256sum -c - >/tmp/checked-$k 2>&1 &
done
wait
cat /tmp/checked-* | grep -v ': OK$'
cat /tmp/checked-* | grep -c ': OK$'
rm /tmp/checked-*`, dir, digits))
	if out != strconv.Itoa(s.n) {
		t.Errorf("not all of %d files are right:\n%s", s.n, out)
	}
}

// digits are the last digits of the files' names. Those of each digit move at a time.
const digits = "0 1 2 3 4 5 6 7 8 9"

// lose sets the loss of a wire, each way.
func (w *wire) lose(loss float64) {
	for _, d := range []faultnet.Direction{faultnet.Up, faultnet.Down} {
		w.SetWay(d, faultnet.Way{Loss: loss, Buffer: 4 << 20})
	}
}

// TestRXESmall has the kernel write and read small files at our server, while frames are lost. The
// kernel takes some seconds for each of its frames that is lost, and often a new connection.
func TestRXESmall(t *testing.T) {
	t.Parallel()
	all := []lossySmall{{0.01, 30}}
	if *full {
		all = []lossySmall{{0.01, 300}, {0.1, 30}}
	}
	w := newWire(t, faultnet.Way{})
	s := serveRXE(t, w)
	g, sh := bootShells(t, machine{RXE: w.card}, 1)
	for _, l := range all {
		l.run(t, func(t *testing.T, f smallFiles) {
			name := fmt.Sprintf("small-%v-%d", l.loss, f.size)
			f.write(t, filepath.Join(g.dir, name))
			g.put("sums", f.sums())
			m := s.mount(t, sh[0], directory, "nocto", "actimeo=600") // fewer calls
			w.lose(l.loss)
			sh[0].run(t, fmt.Sprintf(`cd /host/%[2]s && mkdir %[1]s/%[2]s && for k in %[3]s; do
	cp *$k %[1]s/%[2]s &
done; wait; echo 3 >/proc/sys/vm/drop_caches`, m.at, name, digits))
			f.check(t, filepath.Join(s.dir, name))
			f.checkIn(t, sh[0], m.at+"/"+name)
			w.lose(0)
			m.unmount(t)
		})
	}
	g.closeShells(sh)
	g.wait(t)
	s.stop(t)
	w.seen.flush(t) // tshark cannot decode our probes of a host that does not answer
}

// TestRXEKnfsdSmall puts small files to the kernel's server and gets them back, while frames are
// lost.
func TestRXEKnfsdSmall(t *testing.T) {
	t.Parallel()
	all := []lossySmall{{0.1, 100}}
	if *full {
		all = []lossySmall{{0.01, 3000}, {0.1, 1000}}
	}
	w := newWire(t, faultnet.Way{})
	k := bootKnfsd(t, machine{RXE: w.card})
	for _, l := range all {
		l.run(t, func(t *testing.T, f smallFiles) {
			k.put("sums", f.sums())
			k.sh[0].run(t, "rm -rf /export/*")
			from, back := filepath.Join(t.TempDir(), "small"), filepath.Join(t.TempDir(), "back")
			f.write(t, from)
			w.lose(l.loss)
			k.do(t, "put", "-r", from, w.url(open+"/small"))
			f.checkIn(t, k.sh[0], open+"/small")
			k.do(t, "get", "-r", w.url(open+"/small"), back)
			w.lose(0)
			f.check(t, back)
		})
	}
	k.end(t)
	w.seen.flush(t)
}
