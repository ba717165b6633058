package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/mdblocks"
)

// infos are the info strings that a block may have. Package mdblocks says what they mean.
var infos = []string{
	"go", "sh", "sh linux", "sh kerberos", "sh hand", "toml", "json", "text", "ini", "promql", "yaml",
}

// mostByHand is how many blocks no test runs. Lower it when one becomes testable; do not raise it.
const mostByHand = 6

// TestBlocks checks that each code block says how it is tested.
func TestBlocks(t *testing.T) {
	files, err := mdblocks.Documents("..")
	if err != nil {
		t.Fatal(err)
	}
	byHand, total := 0, 0
	for _, file := range files {
		blocks, err := mdblocks.Read("..", file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, b := range blocks {
			total++
			switch {
			case !slices.Contains(infos, b.Info):
				t.Errorf("%v: info string %q, want one of %q", b, b.Info, infos)
			case b.Info == "json" && !json.Valid([]byte(b.Text)):
				t.Errorf("%v: not valid JSON", b)
			case b.Info == "sh hand" && (b.Before == "" || b.Before[0] == '#'):
				t.Errorf("%v: no sentence before it says why no test runs it", b)
			case b.Info == "sh hand":
				byHand++
			case b.Info == "sh linux" && b.Guest() == "":
				t.Errorf("%v: no guest runs it", b)
			}
		}
	}
	if byHand > mostByHand {
		t.Errorf("%d blocks are run by hand, want %d at most", byHand, mostByHand)
	}
	t.Logf("%d blocks, %d by hand", total, byHand)
}

// readBlocks returns the blocks with one of some info strings.
func readBlocks(t *testing.T, infos ...string) []mdblocks.Block {
	t.Helper()
	blocks, err := mdblocks.ReadAll("..", infos...)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// TestGoBlocks checks that each block of Go is in a file that is compiled.
func TestGoBlocks(t *testing.T) {
	out, err := exec.Command("git", "-C", "..", "ls-files", "-co", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatal("git ls-files: ", err)
	}
	var files [][]string
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile("../" + name)
		if err != nil || strings.Contains(name, "testdata/") || strings.Contains(string(text), "//go:build ignore") {
			continue // removed, or not compiled
		}
		files = append(files, strings.Split(string(text), "\n"))
	}
	for _, b := range readBlocks(t, "go") {
		if !slices.ContainsFunc(files, func(lines []string) bool { return quotes(lines, b.Text) }) {
			t.Errorf("%v: no Go file has these lines:\n%s", b, b.Text)
		}
	}
}

// quotes reports whether a file has the lines of a block in order, indented or not. In the block,
// "..." and "// ..." stand for any lines.
func quotes(file []string, block string) bool {
	var run []string
	for _, line := range append(strings.Split(strings.TrimSuffix(block, "\n"), "\n"), "...") {
		if text := strings.TrimPrefix(strings.TrimSpace(line), "// "); text != "..." {
			run = append(run, line)
			continue
		}
		if run = trimBlank(run); len(run) > 0 {
			at := slices.IndexFunc(file, func(line string) bool { return strings.HasSuffix(line, strings.TrimSpace(run[0])) })
			for ; at >= 0 && at+len(run) <= len(file) && !sameLines(file[at:at+len(run)], run); at++ {
			}
			if at < 0 || at+len(run) > len(file) {
				return false
			}
			file = file[at+len(run):]
		}
		run = nil
	}
	return true
}

// trimBlank removes blank lines at both ends.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// sameLines compares lines after removing the common indentation of each side.
func sameLines(a, b []string) bool {
	indentA, indentB := indentation(a), indentation(b)
	for i := range a {
		if strings.TrimPrefix(a[i], indentA) != strings.TrimPrefix(b[i], indentB) {
			return false
		}
	}
	return true
}

// indentation is what all lines that are not blank begin with.
func indentation(lines []string) string {
	common, first := "", true
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		own := line[:len(line)-len(strings.TrimLeft(line, "\t "))]
		if first || strings.HasPrefix(common, own) {
			common, first = own, false
		}
	}
	return common
}

// TestQuotes checks what counts as a quotation.
func TestQuotes(t *testing.T) {
	file := strings.Split("package p\n\nfunc f() {\n\tif a {\n\t\tb()\n\n\t\tc()\n\t}\n\td()\n}", "\n")
	for _, tt := range []struct {
		name, block string
		want        bool
	}{
		{"whole", "func f() {\n\tif a {\n\t\tb()\n", true},
		{"without indentation", "if a {\n\tb()\n\n\tc()\n}\n", true},
		{"of an inner block", "b()\n\nc()\n", true},
		{"an omission", "if a {\n\t// ...\n}\nd()\n", true},
		{"two runs", "b()\n// ...\nd()\n", true},
		{"two runs, dots alone", "\tb()\n...\n\td()\n", true},
		{"in another order", "d()\n// ...\nb()\n", false},
		{"another line", "b()\n\nx()\n", false},
		{"a line is missing", "b()\nc()\n", false},
		{"indented otherwise", "if a {\nb()\n", false},
	} {
		if got := quotes(file, tt.block); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
