//go:build linux

package dirfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// newNames opens the log of a directory, or one without a name.
func newNames(tb testing.TB, dir string, most int) *names {
	tb.Helper()
	s, err := openNames(dir, most, slog.New(slog.DiscardHandler))
	must(tb, err)
	tb.Cleanup(func() {
		select {
		case <-s.stop: // closed by reopen
		default:
			must(tb, s.close())
		}
	})
	return s
}

// reopen closes a log and opens it again.
func (s *names) reopen(tb testing.TB) *names {
	tb.Helper()
	must(tb, s.close())
	return newNames(tb, s.dir, s.most)
}

// settle waits until no copying of segments is under way.
func (s *names) settle() {
	for busy := true; busy; runtime.Gosched() {
		s.mu.RLock()
		busy = s.busy
		s.mu.RUnlock()
	}
}

// TestNames: what was noted is found at once and after a restart; later notes undo earlier ones.
func TestNames(t *testing.T) {
	s := newNames(t, t.TempDir(), 100)
	dir := key{2, 1}
	a, b, c := hint{dir, "a"}, hint{dir, "b"}, hint{key{3, 1}, strings.Repeat("c", MaxName)}
	x, y := key{10, 1}, key{11, 1}
	s.add(x, a)
	s.add(y, b)
	s.add(x, c)
	s.add(x, a) // known
	s.remove(x, a)
	s.remove(y, c) // never had it
	s.forget(key{99, 9})
	check := func() {
		t.Helper()
		if got := s.of(x); !slices.Equal(got, []hint{c}) {
			t.Errorf("%v, want %v", got, c)
		}
		if got := s.of(y); !slices.Equal(got, []hint{b}) || !s.has(y) {
			t.Errorf("%v, want %v", got, b)
		}
		if got := s.of(key{10, 2}); got != nil || s.has(key{10, 2}) {
			t.Errorf("another generation has %v", got)
		}
	}
	check()
	s = s.reopen(t)
	check()
	s.forget(y)
	if s = s.reopen(t); s.has(y) || s.of(y) != nil {
		t.Error("a file that is gone has names")
	}
}

// damaged returns the names found in a log whose only segment is b.
func damaged(t *testing.T, b []byte, keys []key) (found []string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, segmentPrefix+"3"), b, 0o600))
	s := newNames(t, dir, 100)
	s.settle()
	s = s.reopen(t) // opening repaired the log
	for _, k := range keys {
		for _, in := range s.of(k) {
			found = append(found, in.name)
		}
	}
	return found
}

// TestTornNames: a log that was cut off anywhere, or has one wrong byte, loses only the damaged
// record.
func TestTornNames(t *testing.T) {
	whole := []byte(segmentMagic)
	var keys []key
	var ends []int
	for i := range uint64(4) {
		k := key{i, 7}
		keys = append(keys, k)
		whole = appendRecord(whole, k, []hint{{key{100, 8}, fmt.Sprint("name", i)}})
		ends = append(ends, len(whole))
	}
	for i := range len(whole) + 1 {
		n := 0
		for _, end := range ends {
			if end <= i {
				n++
			}
		}
		if got := damaged(t, whole[:i], keys); len(got) != n {
			t.Fatalf("cut off at %d of %d: %v", i, len(whole), got)
		}
	}
	for i := range whole {
		if i == len(segmentMagic)-1 {
			continue // this byte is the version
		}
		want := []string{"name0", "name1", "name2", "name3"}
		for j, end := range ends {
			if i < end && i >= len(segmentMagic) {
				want = slices.Delete(want, j, j+1)
				break
			}
		}
		b := bytes.Clone(whole)
		b[i] ^= 0x41
		if got := damaged(t, b, keys); !slices.Equal(got, want) {
			t.Fatalf("wrong at %d of %d: %v, want %v", i, len(whole), got, want)
		}
	}
}

// TestNamesDamageLogged: damage to the log is reported to the operator.
func TestNamesDamageLogged(t *testing.T) {
	dir := t.TempDir()
	b := append([]byte(segmentMagic), make([]byte, 1000)...)
	must(t, os.WriteFile(filepath.Join(dir, segmentPrefix+"1"), b, 0o600))
	var log bytes.Buffer
	s, err := openNames(dir, 100, slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	must(t, s.close())
	if !strings.Contains(log.String(), "bytes=1000") {
		t.Errorf("logged: %s", &log)
	}
}

// TestNamesDoNotGrow: the log is rewritten in the background when most of it is obsolete.
func TestNamesDoNotGrow(t *testing.T) {
	s := newNames(t, t.TempDir(), 1000)
	stays := hint{key{1, 1}, "stays"}
	for i := range uint64(100) {
		s.add(key{i, 5}, stays)
	}
	for i := range soak.Amount(8, 20) * garbage {
		in := hint{key{1, 1}, "name" + strings.Repeat("x", i%200)}
		s.add(key{1000, 1}, in)
		s.remove(key{1000, 1}, in)
		if i%100 == 0 {
			s.flush()
		}
		if i%garbage == 0 {
			s.settle()
		}
	}
	s.flush()
	s.settle()
	var size int64
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	for _, e := range entries {
		st, err := e.Info()
		must(t, err)
		size += st.Size()
	}
	if size > 4*garbage*recordMin*10 || len(entries) != 1 {
		t.Errorf("the log has %d bytes in %d files", size, len(entries))
	}
	for range 2 {
		for i := range uint64(100) {
			if got := s.of(key{i, 5}); !slices.Equal(got, []hint{stays}) {
				t.Fatalf("%d: %v", i, got)
			}
		}
		s = s.reopen(t)
	}
}

// TestNamesAreBounded: with too many files, the names of the oldest are dropped.
func TestNamesAreBounded(t *testing.T) {
	s := newNames(t, t.TempDir(), 1000)
	for i := range uint64(5000) {
		s.add(key{i, 1}, hint{key{1, 1}, "name"})
		if i%100 == 0 {
			s.flush()
			s.settle()
		}
		if n := len(s.index); n > 1200 {
			t.Fatalf("names of %d files", n)
		}
	}
	if !s.has(key{4999, 1}) || s.has(key{0, 1}) {
		t.Error("another than the oldest was dropped")
	}
}

// TestNamesInterrupted: the log stays whole if the server ends while it is being rewritten.
func TestNamesInterrupted(t *testing.T) {
	s := newNames(t, t.TempDir(), 100000)
	const files = 20000
	for i := range uint64(files) {
		s.add(key{i, 1}, hint{key{1, 1}, fmt.Sprint("name", i)})
	}
	s.mu.Lock()
	s.damaged = true
	s.tidy()
	s.mu.Unlock()
	s.add(key{files, 1}, hint{key{1, 1}, fmt.Sprint("name", files)})
	s = s.reopen(t)
	for i := range uint64(files + 1) {
		if got := s.of(key{i, 1}); len(got) != 1 || got[0].name != fmt.Sprint("name", i) {
			t.Fatalf("%d: %v", i, got)
		}
	}
}

// TestNamesNotAnew: a log that cannot be rewritten stays in use, and the rewrite is not retried all
// the time.
func TestNamesNotAnew(t *testing.T) {
	s := newNames(t, t.TempDir(), 100)
	k, in := key{1, 1}, hint{key{2, 1}, "name"}
	s.add(k, in)
	s.flush()
	dir := s.dir
	for i := range 3 {
		s.mu.Lock()
		s.dir, s.damaged = filepath.Join(dir, "missing"), true
		s.tidy()
		tried := !s.damaged
		s.dir = dir
		s.mu.Unlock()
		if tried != (i == 0) {
			t.Errorf("time %d: tried: %v", i, tried)
		}
	}
	s.add(key{3, 1}, in)
	s.flush()
	for _, k := range []key{k, {3, 1}} {
		if got := s.of(k); !slices.Equal(got, []hint{in}) {
			t.Errorf("%v: %v", k, got)
		}
	}
	s.mu.Lock()
	s.again = time.Time{}
	s.tidy()
	s.mu.Unlock()
	s.settle()
	if got := s.of(k); !slices.Equal(got, []hint{in}) || len(s.segs) != 1 {
		t.Errorf("written anew: %v in %d segments", got, len(s.segs))
	}
}

// TestNamesWrittenBefore: a name is in the log before a client gets the handle, even if the server
// crashes right after.
func TestNamesWrittenBefore(t *testing.T) {
	f := openState(t)
	defer f.Close()
	d := mkdir(t, f, f.Root(), "dir")
	must(t, os.WriteFile(filepath.Join(f.tree.host.path, "dir", "seen"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(f.tree.host.path, "dir", "listed"), nil, 0o644))
	made := createIn(t, f, d, "created")
	seen, _, err := f.Lookup(t.Context(), super, d, "seen")
	must(t, err)
	want := map[nfs3.FH]string{d: "dir", made: "created", seen.File: "seen"}
	walkAll(t, f, d, true, 100, func(e *nfs3.Entry) {
		if e.Name == "listed" {
			want[e.File.FH] = "listed"
		}
	})
	copied := t.TempDir()
	b, err := os.ReadFile(stateFile(f, segmentPrefix+"1"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(copied, segmentPrefix+"1"), b, 0o600))
	after := newNames(t, copied, 100)
	for h, name := range want {
		if got := after.of(keyOfHandle(t, f, h)); len(got) != 1 || got[0].name != name {
			t.Errorf("%s is not in the log: %v", name, got)
		}
	}
}

// formerRecord returns a record in the format used before the log had segments.
func formerRecord(b []byte, what byte, k key, in hint) []byte {
	at := len(b)
	b = appendKey(appendKey(append(b, 0, 0, 0, 0, 0, 0, what), k), in.parent)
	b = append(b, in.name...)
	binary.LittleEndian.PutUint16(b[at+4:], uint16(len(b)-at-recordHead))
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

// TestFormerState: handles of the previous version stay valid and lead to the same files, both in a
// file system by names and in one by the kernel's handles.
func TestFormerState(t *testing.T) {
	bothWays(t, func(t *testing.T, byName bool) {
		f := openState(t)
		d := mkdir(t, f, f.Root(), "dir")
		h := createIn(t, f, d, "file")
		write(t, f, h, 0, []byte("data"))
		dk, k := keyOfHandle(t, f, d), keyOfHandle(t, f, h)
		log := formerRecord(nil, formerName, dk, hint{byNameOf(f).root, "dir"})
		log = formerRecord(log, formerName, k, hint{dk, "other"})
		log = formerRecord(log, formerNoName, k, hint{dk, "other"})
		log = formerRecord(log, formerName, key{77, 7}, hint{dk, "gone"})
		log = formerRecord(log, formerGone, key{77, 7}, hint{})
		log = formerRecord(append(log, "damage"...), formerName, k, hint{dk, "file"})
		root := f.Root()
		must(t, f.Close())
		must(t, os.Remove(stateFile(f, segmentPrefix+"1")))
		must(t, os.WriteFile(stateFile(f, hintsFile), log, 0o600))
		id, err := os.ReadFile(stateFile(f, identityFile))
		must(t, err)
		id = bytes.Replace(id, []byte("\t\"Version\": 1,\n"), nil, 1)
		must(t, os.WriteFile(stateFile(f, identityFile), id, 0o600))
		cfg := configOf(f)
		cfg.ByName = byName
		for range 2 {
			f, err := New(cfg)
			must(t, err)
			wantData(t, f, h, "data")
			a, err := f.GetAttr(t.Context(), root)
			if b, berr := f.GetAttr(t.Context(), f.Root()); a != b || err != nil || berr != nil {
				t.Errorf("the root: %v, %v", err, berr)
			}
			o, _, err := f.Lookup(t.Context(), super, d, "file")
			must(t, err)
			n, err := f.tree.node(&h)
			must(t, err)
			if m, err := f.tree.node(&o.File); m != n || err != nil || m.id.kernel == byName {
				t.Errorf("a file has two nodes: %v", err)
			}
			must(t, f.Close())
		}
		if _, err := os.Stat(filepath.Join(cfg.State, hintsFile)); !os.IsNotExist(err) {
			t.Errorf("the former log: %v", err)
		}
	})
}

// TestKernelHandlesLost: without the privilege to use them, the kernel's handles are stale. This is
// logged.
func TestKernelHandlesLost(t *testing.T) {
	needRoot(t)
	f := openWith(t, Config{})
	h := create(t, f, "file")
	must(t, f.Close())
	cfg := configOf(f)
	var log bytes.Buffer
	cfg.ByName, cfg.Logger = true, slog.New(slog.NewTextHandler(&log, nil))
	f, err := New(cfg)
	must(t, err)
	defer f.Close()
	for range 2 {
		if _, err := f.GetAttr(t.Context(), h); err != nfs3.ErrStale {
			t.Error(err)
		}
	}
	if n := strings.Count(log.String(), "CAP_DAC_READ_SEARCH"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// TestStateFull: if there is no more room for names, this is logged once and everything goes on.
func TestStateFull(t *testing.T) {
	state := t.TempDir()
	mountOn(t, state, "tmpfs", "tmpfs", 0, "size=32k,mode=0700")
	var log bytes.Buffer
	cfg := Config{Path: tempDir(t), State: state, ByName: true,
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	f, err := New(cfg)
	must(t, err)
	mkdir(t, f, f.Root(), "dir")
	const files = 1000
	fill(t, filepath.Join(cfg.Path, "dir"), files)
	want := make(map[nfs3.FH]bool)
	check := func() {
		t.Helper()
		for h := range want {
			if _, err := f.GetAttr(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		o, _, err := f.Lookup(t.Context(), super, f.Root(), "dir")
		must(t, err)
		walkAll(t, f, o.File, true, 100, func(e *nfs3.Entry) { want[e.File.FH] = true })
	}
	if len(want) != files+2 {
		t.Errorf("%d handles", len(want))
	}
	if n := strings.Count(log.String(), "names of files cannot be kept"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
	must(t, f.Close())
	must(t, unix.Mount("", state, "", unix.MS_REMOUNT, "size=1m"))
	f, err = New(cfg)
	must(t, err)
	defer f.Close()
	check()
}

// FuzzNames: any log can be read without harm, and what was read can be written.
func FuzzNames(f *testing.F) {
	one := appendRecord(nil, key{1, 2}, []hint{{key{3, 4}, "name"}, {key{5, 6}, ""}})
	f.Add(one)
	f.Add(one[:len(one)-1])
	f.Add(append(one, appendRecord(nil, key{1, 2}, nil)...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for rest := b; ; {
			rec := recordAt(rest)
			if rec == nil {
				break
			}
			names := rec.names()
			again := recordAt(appendRecord(nil, rec.key(), names))
			if again.key() != rec.key() || !slices.Equal(again.names(), names) {
				t.Fatalf("%x, written again %x", rec, again)
			}
			rest = rest[len(rec):]
		}
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, segmentPrefix+"1"),
			append([]byte(segmentMagic), b...), 0o600))
		s := newNames(t, dir, 10)
		s.of(key{1, 2})
	})
}
