package docs_test

import "testing"

// readmeLines is how many lines README may have. What does not fit goes to docs/.
const readmeLines = 199

// TestReadme checks that README stays short.
func TestReadme(t *testing.T) {
	if n := len(lines(t, "../README.md")); n > readmeLines {
		t.Errorf("%d lines, want %d at most", n, readmeLines)
	}
}
