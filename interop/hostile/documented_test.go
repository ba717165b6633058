package hostile_test

import (
	"os"
	"strings"
	"testing"
)

// TestDocumented checks that docs/security-bounds.md has an answer to each attack.
func TestDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/security-bounds.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attacks {
		name := "/" + strings.ReplaceAll(a.name, " ", "_") + "`"
		if !strings.Contains(string(b), "`hostile.TestBystander"+name) &&
			!strings.Contains(string(b), "`hostile.TestServe"+name) {
			t.Errorf("docs/security-bounds.md does not name the test of %s", a.name)
		}
	}
}
