package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is where lines of Markdown end. golangci-lint has the same for comments.
const columns = 100

// TestWidth checks that no line of prose in Markdown is longer than columns. Rows of tables, which
// cannot be broken, and code may be.
func TestWidth(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "..":
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		files++
		checkWidth(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("%d Markdown files", files)
	}
}

func checkWidth(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fenced := false
	for i, line := range strings.Split(string(text), "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		fenced = fenced != fence
		exempt := fenced || fence || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "|")
		if n := utf8.RuneCountInString(line); n > columns && !exempt {
			t.Errorf("%s:%d has %d columns, want %d at most", path, i+1, n, columns)
		}
	}
}
