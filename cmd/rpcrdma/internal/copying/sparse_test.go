package copying

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
)

// TestEachRun: runs are the blocks of a file that are not zeros.
func TestEachRun(t *testing.T) {
	data := make([]byte, 10*holeSize)
	for _, i := range []int{0, holeSize, 3*holeSize - 1, 5 * holeSize, 9*holeSize + 100} {
		data[i] = 1
	}
	for _, tt := range []struct {
		from, to int
		want     string
	}{
		{0, len(data), "0-12288 20480-24576 36864-40960 "},
		{100, len(data) - 50, "4096-12288 20480-24576 36864-40910 "},
		{3 * holeSize, 5 * holeSize, ""},
		{9*holeSize + 101, len(data), ""},
		{9*holeSize + 100, 9*holeSize + 101, "36964-36965 "},
		{7, 7, ""},
	} {
		var got string
		var all bytes.Buffer
		err := eachRun(data[tt.from:tt.to], int64(tt.from), func(p []byte, off int64) error {
			got += fmt.Sprintf("%d-%d ", off, off+int64(len(p)))
			all.Write(p)
			return nil
		})
		if got != tt.want || err != nil {
			t.Errorf("%d to %d: got %q, %v, want %q", tt.from, tt.to, got, err, tt.want)
		}
	}
	if err := eachRun(data, 0, func([]byte, int64) error { return io.ErrShortWrite }); err != io.ErrShortWrite {
		t.Errorf("got %v, want the error of yield", err)
	}
}

// nowhere discards what is written.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// TestPutSparseBar: the bar counts holes neither as done nor as left.
func TestPutSparseBar(t *testing.T) {
	const size, data = 32 << 20, 3 << 20
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(rig.Pattern(data), 8<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	b := barOn(new(bytes.Buffer))
	b.Grow(size)
	c := &copier{teller: teller{bar: b}}
	if _, err := c.putSparse(t.Context(), nowhere{}, f, "file", 0, size); err != nil {
		t.Fatal(err)
	}
	if got := b.State; got.Done != got.Size || got.Done < data {
		t.Errorf("%d of %d bytes are done, want all of at least %d", got.Done, got.Size, data)
	}
}
