package report

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

var update = flag.Bool("update", false, "write testdata anew")

func TestWriteTable(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   *bench.Result
	}{{"small", small()}, {"empty", &bench.Result{}}, {"partial", partial()["no call returned"]}} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := WriteTable(&b, tt.in); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", tt.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
				t.Errorf("other than %s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// TestWriteTableWidth: the table of a full run, with its long numbers, fits in a wide terminal.
func TestWriteTableWidth(t *testing.T) {
	var b strings.Builder
	if err := WriteTable(&b, sample()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 150 {
			t.Errorf("got a line of %d columns, want at most 150:\n%s", n, line)
		}
	}
}

// full is a writer to a full disk.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestWriteTableError(t *testing.T) {
	want := errors.New("no room")
	if err := WriteTable(full{want}, small()); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestWriteTablePartial(t *testing.T) {
	for name, r := range partial() {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := WriteTable(&b, r); err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(b.String(), bad) {
					t.Errorf("got %s in\n%s", bad, b.String())
				}
			}
		})
	}
}
