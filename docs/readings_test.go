package docs_test

import "testing"

// TestReadingsNames checks that every test that readings.md names exists. There the package is in
// the sentence around it, so any will do.
func TestReadingsNames(t *testing.T) {
	pkgs := parseTests(t)
	named := 0
	for i, line := range lines(t, readings) {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			if !testName.MatchString(m[1]) {
				continue
			}
			named++
			if !pkgs.anywhere(m[1]) {
				t.Errorf("%s:%d: there is no %s", readings, i+1, m[1])
			}
		}
	}
	if named == 0 {
		t.Errorf("%s names no test", readings)
	}
}
