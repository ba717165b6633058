package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	rigRow     = regexp.MustCompile("^\\| ((?:`\\w+`(?:, )?)+) \\| `([^`]+)` \\|")
	rigName    = regexp.MustCompile("`(\\w+)`")
	packageRow = regexp.MustCompile("^\\| `([^`]+)` \\| [^`]")
)

// TestTestingNames checks that every rig in testing.md is declared in its file, and every package
// is there.
func TestTestingNames(t *testing.T) {
	rigs, pkgs := 0, 0
	for i, line := range lines(t, "testing.md") {
		if m := rigRow.FindStringSubmatch(line); m != nil {
			rigs++
			text, err := os.ReadFile(filepath.Join("..", m[2]))
			if err != nil {
				t.Errorf("testing.md:%d: %v", i+1, err)
				continue
			}
			for _, name := range rigName.FindAllStringSubmatch(m[1], -1) {
				if !regexp.MustCompile(`(?m)^(type|func|var) ` + name[1] + `\b`).Match(text) {
					t.Errorf("testing.md:%d: %s does not declare %s", i+1, m[2], name[1])
				}
			}
			continue
		}
		if m := packageRow.FindStringSubmatch(line); m != nil {
			pkgs++
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("testing.md:%d: %v", i+1, err)
			}
		}
	}
	if rigs == 0 || pkgs == 0 {
		t.Errorf("testing.md names %d rigs and %d packages", rigs, pkgs)
	}
}
