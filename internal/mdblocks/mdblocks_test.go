package mdblocks

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func read(t *testing.T, text string) ([]Block, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(dir, "a.md")
}

func TestRead(t *testing.T) {
	got, err := read(t, strings.Join([]string{
		"Run this:", "", "```sh hand", "one", "    two", "```", "- item", "", "      of the item", "",
		"  ```go", "  a", "    b", "  ```", "",
	}, "\n"))
	want := []Block{
		{File: "a.md", Line: 3, Info: "sh hand", Text: "one\n    two\n", Before: "Run this:"},
		{File: "a.md", Line: 11, Info: "go", Text: "a\n  b\n", Before: "      of the item"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestReadErrors(t *testing.T) {
	for name, text := range map[string]string{
		"indented":         "Run this:\n\n    one\n",
		"indented by tabs": "Run this:\n\n\tone\n",
		"after a list":     "- item\n\nText.\n\n    one\n",
		"no end":           "```sh\none\n",
	} {
		if got, err := read(t, text); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func TestCommands(t *testing.T) {
	b := Block{Line: 10, Text: "# comment\none   # exit 1\n\ntwo \\\n    more\ncat <<END\n# kept\nEND\nthree\n"}
	got := b.Commands()
	want := []Command{
		{12, "one   # exit 1\n", "1"},
		{14, "two \\\n    more\n", "0"},
		{16, "cat <<END\n# kept\nEND\n", "0"},
		{19, "three\n", "0"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
