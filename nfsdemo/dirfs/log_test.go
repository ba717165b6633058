//go:build linux

package dirfs

import (
	"fmt"
	"strings"
	"testing"
)

func emptyTable() *table {
	t := &table{nodes: make(map[key]*node), gone: make(map[key]struct{})}
	t.sealer.init(newIdentity("", key{}))
	return t
}

// logOf returns five records, and where each ends.
func logOf() (b []byte, ends []int) {
	for i := range 5 {
		b = appendRecord(b, recordName, key{uint64(i), 7}, hint{key{100, 8}, fmt.Sprint("name", i)})
		ends = append(ends, len(b))
	}
	return b, ends
}

// TestLogRecords: what was written is read; of a log that ends anywhere, what is whole.
func TestLogRecords(t *testing.T) {
	b, ends := logOf()
	for i := range len(b) + 1 {
		want := 0
		for _, end := range ends {
			if end <= i {
				want++
			}
		}
		tab := emptyTable()
		tab.load(b[:i])
		if len(tab.nodes) != want {
			t.Fatalf("%d of %d bytes: %d nodes, want %d", i, len(b), len(tab.nodes), want)
		}
		for k, n := range tab.nodes {
			if in := (hint{key{100, 8}, fmt.Sprint("name", k.ino)}); k.gen != 7 || len(n.hints) != 1 || n.hints[0] != in {
				t.Errorf("%+v: %+v", k, n.hints)
			}
		}
	}
}

// TestLogReplay: later records undo earlier ones.
func TestLogReplay(t *testing.T) {
	dir := key{2, 1}
	a, b, c := hint{dir, "a"}, hint{dir, "b"}, hint{key{3, 1}, strings.Repeat("c", 255)}
	x, y := key{10, 1}, key{11, 1}
	var log []byte
	for _, r := range []struct {
		r  record
		k  key
		in hint
	}{
		{recordName, x, a}, {recordName, y, b}, {recordName, x, c}, {recordNoName, x, a}, {recordNoName, y, c},
		{recordGone, y, hint{}}, {recordNoName, y, b}, {record(99), x, c}, {recordGone, key{99, 9}, hint{}},
	} {
		log = appendRecord(log, r.r, r.k, r.in)
	}
	tab := emptyTable()
	tab.load(log)
	if len(tab.nodes) != 1 || tab.nodes[x] == nil || len(tab.nodes[x].hints) != 1 || tab.nodes[x].hints[0] != c {
		t.Errorf("%+v", tab.nodes)
	}
}

// FuzzLog: whatever is in the log, it is read without harm, and what was read can be written.
func FuzzLog(f *testing.F) {
	b, _ := logOf()
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Add(appendRecord(nil, recordNoName, key{1, 2}, hint{}))
	f.Add(appendRecord(nil, recordGone, key{1, 2}, hint{}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			r, k, in, n := parseRecord(b)
			if n == 0 {
				break
			}
			if again := appendRecord(nil, r, k, in); string(again) != string(b[:n]) {
				t.Fatalf("%x, written again %x", b[:n], again)
			}
			b = b[n:]
		}
		emptyTable().load(b)
	})
}
