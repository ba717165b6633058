package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// fakeFile is a caller with a file in this process.
type fakeFile struct {
	mu      sync.Mutex // guards what follows
	data    []byte
	entries int
	calls   map[operation]int
	lose    bool // WRITEs succeed but change nothing
	err     error
}

func newFakeFile() *fakeFile {
	f := &fakeFile{data: make([]byte, fileSize), calls: make(map[operation]int)}
	content(f.data, 0)
	return f
}

func (f *fakeFile) called(op operation) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	return f.err
}

func (f *fakeFile) null() error    { return f.called(opNull) }
func (f *fakeFile) getAttr() error { return f.called(opGetAttr) }

func (f *fakeFile) read(off int64, p []byte) error {
	f.mu.Lock()
	copy(p, f.data[off:])
	f.mu.Unlock()
	return f.called(opRead)
}

func (f *fakeFile) write(off int64, p []byte) error {
	if !f.lose {
		f.mu.Lock()
		copy(f.data[off:], p)
		f.mu.Unlock()
	}
	return f.called(opWrite)
}

func (f *fakeFile) list() (int, error) { return f.entries, f.called(opList) }

// dial makes a client of f.
func (f *fakeFile) dial(t *testing.T, w workload) (paired.Client, error) {
	return calls(func(context.Context, paired.Sockets, string, workload) ([]caller, func() error, error) {
		all := make([]caller, w.inFlight)
		for i := range all {
			all[i] = f
		}
		return all, func() error { return nil }, nil
	})(t.Context(), paired.Sockets{}, "", w)
}

func TestRunCounts(t *testing.T) {
	for _, w := range []workload{null, nulls, getAttrs, reads, randoms, writes} {
		t.Run(w.String(), func(t *testing.T) {
			f := newFakeFile()
			c, err := f.dial(t, w)
			if err != nil {
				t.Fatal(err)
			}
			before := f.total() // made by the check
			const n = 1000
			if err := c.Run(n, nil); err != nil {
				t.Fatal(err)
			}
			if got := f.total() - before; got != n {
				t.Errorf("got %d calls, want %d", got, n)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func (f *fakeFile) total() (n int) {
	for _, k := range f.calls {
		n += k
	}
	return n
}

func TestWritesGoAround(t *testing.T) {
	f := newFakeFile()
	c, err := f.dial(t, write)
	if err != nil {
		t.Fatal(err)
	}
	blocks := int(fileSize) / write.size
	if err := c.Run(blocks-1, nil); err != nil {
		t.Fatal(err)
	}
	want := make([]byte, write.size)
	written(want)
	for i := range blocks - 1 {
		if !bytes.Equal(f.data[i*write.size:][:write.size], want) {
			t.Fatalf("block %d is not what was written", i)
		}
	}
	last := int(fileSize) - write.size
	content(want, int64(last))
	if !bytes.Equal(f.data[last:], want) {
		t.Error("the last block has been written to")
	}
}

func TestChecks(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		w    workload
		file func(*fakeFile)
		want string
	}{
		{"nothing wrong", read, func(*fakeFile) {}, ""},
		{"beginning of the file differs", read, func(f *fakeFile) { f.data[9]++ }, "at 0 there are not"},
		{"end of the file differs", randoms, func(f *fakeFile) { f.data[fileSize-1]++ }, "there are not"},
		{"WRITE is lost", writes, func(f *fakeFile) { f.lose = true }, "there are not"},
		{"call fails", nulls, func(f *fakeFile) { f.err = broken }, "broken"},
		{"entries are missing", list, func(f *fakeFile) { f.entries = list.size - 1 }, "listed 9999 entries, want 10000"},
		{"entries are there", list, func(f *fakeFile) { f.entries = list.size }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeFile()
			tt.file(f)
			got := func() error {
				c, err := f.dial(t, tt.w)
				if err != nil {
					return err
				}
				var samples []time.Duration
				if tt.w.metric() == paired.Latency {
					samples = make([]time.Duration, 3)
				}
				return errors.Join(c.Run(3, samples), c.Close())
			}()
			if (got == nil) != (tt.want == "") || got != nil && !strings.Contains(got.Error(), tt.want) {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}
