package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ +(.*?) *#*$`)
	code    = regexp.MustCompile("`[^`]*`")
	// notInAnchor is what GitHub leaves out of the anchor of a heading.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	headingLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// TestLinks checks that each relative link of the documents leads to a file, and its anchor to a
// heading there.
func TestLinks(t *testing.T) {
	files := []string{"../deploy/README.md", "../interop/README.md"}
	for _, pattern := range []string{"../*.md", "*.md", "*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	links := 0
	for _, file := range files {
		for i, line := range prose(t, file) {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
				path, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(path, ":") {
					continue // elsewhere
				}
				links++
				to := filepath.Join(filepath.Dir(file), path)
				if path == "" {
					to = file
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s:%d: %v", file, i+1, err)
				} else if anchor != "" && strings.HasSuffix(to, ".md") && !anchors(t, to)[anchor] {
					t.Errorf("%s:%d: %s has no heading for #%s", file, i+1, to, anchor)
				}
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links", links)
	}
}

// prose returns the lines of a file. Those of code blocks are empty.
func prose(t *testing.T, file string) []string {
	t.Helper()
	fenced, all := false, lines(t, file)
	for i, line := range all {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fenced || fence {
			all[i] = ""
		}
		fenced = fenced != fence
	}
	return all
}

// anchors returns the anchors of the headings of a file, as GitHub makes them. A second heading
// with the same text is not expected.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	have := make(map[string]bool)
	for _, line := range prose(t, file) {
		if m := heading.FindStringSubmatch(line); m != nil {
			text := headingLink.ReplaceAllString(m[1], "$1")
			text = notInAnchor.ReplaceAllString(strings.ToLower(text), "")
			have[strings.ReplaceAll(text, " ", "-")] = true
		}
	}
	return have
}
