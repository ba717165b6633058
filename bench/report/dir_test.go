package report

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

func TestWriteDir(t *testing.T) {
	r := small()
	for i := range r.Measured { // fewer charts, which are slow under the race detector
		m := &r.Measured[i]
		m.Latency, m.Client, m.ServerUsage = bench.Latency{}, bench.Usage{}, bench.Usage{}
	}
	r.Measured = r.Measured[:5]
	dir := filepath.Join(t.TempDir(), "new", "bench")
	files, err := WriteDir(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range []string{"results.csv", "results.json", "report.html", "throughput-iwarp.png", "crossover-iwarp.png"} {
		want = append(want, filepath.Join(dir, name))
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range files {
		if filepath.Ext(name) == ".png" {
			checkPNG(t, name)
		} else if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("got %v, %v, want a file with something in it", info, err)
		}
	}
}

// checkPNG checks the size of a chart, and that something is drawn on it.
func checkPNG(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got, want := img.Bounds(), image.Rect(0, 0, 2*int(fileForm.width), 2*int(fileForm.height(2))); got != want {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
	background, drawn := img.At(0, 0), 0
	for y := 0; y < img.Bounds().Dy(); y += 2 {
		for x := 0; x < img.Bounds().Dx(); x += 2 {
			if img.At(x, y) != background {
				drawn++
			}
		}
	}
	if drawn < 1000 {
		t.Errorf("%s: got %d pixels drawn, want a chart", name, drawn)
	}
}

func TestWriteDirErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if files, err := WriteDir(file, small()); err == nil || len(files) > 0 {
		t.Errorf("got %v, %v for a file, want an error", files, err)
	}

	// A directory in place of the second file: only the first file is written.
	if err := os.Mkdir(filepath.Join(dir, "results.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	files, err := WriteDir(dir, small())
	if err == nil {
		t.Error("got no error")
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "results.csv")}, files); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
