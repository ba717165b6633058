package docs_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

const (
	conformance = "conformance.md"
	readings    = "readings.md"
)

var (
	qualified = regexp.MustCompile(`^((?:\w+/)*\w+)\.((?:Test|Fuzz|Example)\w*)(?:/(.+))?$`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	row       = regexp.MustCompile(`^\| (\S+) \| (.+) \| (.+) \| (.*)\|$`)
	number    = regexp.MustCompile(`\b(?:rpcrdma|6581|carrier|draft05|stewart|ib|rfc\d{4})-` +
		`(?:\d+|[A-E]\d*)(?:\.\d+)*-\d+[a-z]?\b`)
)

// TestConformanceNames checks that every test that conformance.md names exists in its package, and
// every case of a test as a string there.
func TestConformanceNames(t *testing.T) { checkNames(t, conformance) }

// checkNames checks the tests that a file names with their packages.
func checkNames(t *testing.T, file string) {
	t.Helper()
	pkgs := parseTests(t)
	named := 0
	for i, line := range lines(t, file) {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			q := qualified.FindStringSubmatch(m[1])
			if q == nil {
				if testName.MatchString(m[1]) {
					t.Errorf("%s:%d: test %s without its package", file, i+1, m[1])
				}
				continue
			}
			named++
			if err := pkgs.check(q[1], q[2], q[3]); err != nil {
				t.Errorf("%s:%d: %v", file, i+1, err)
			}
		}
	}
	if named == 0 {
		t.Errorf("%s names no test", file)
	}
}

// TestConformanceRows checks what the introduction of conformance.md says about its tables: each
// statement has a number of its own, one of five verdicts, and tests or a reason.
func TestConformanceRows(t *testing.T) {
	seen := make(map[string]int)
	for i, line := range lines(t, conformance) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| number |") || strings.HasPrefix(line, "|---") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || !number.MatchString(m[1]) {
			t.Errorf("%s:%d: not a row of number, statement, here, shown by", conformance, i+1)
			continue
		}
		if before, ok := seen[m[1]]; ok {
			t.Errorf("%s:%d: %s is in line %d, too", conformance, i+1, m[1], before)
		}
		seen[m[1]] = i + 1
		if err := checkRow(m[3], m[4]); err != nil {
			t.Errorf("%s:%d: %s: %v", conformance, i+1, m[1], err)
		}
	}
	if len(seen) == 0 {
		t.Errorf("%s has no rows", conformance)
	}
	// Tests, and other rows, cite the numbers.
	for _, file := range append(testFiles(t), conformance, readings) {
		for i, line := range lines(t, file) {
			for _, n := range number.FindAllString(line, -1) {
				if seen[n] == 0 {
					t.Errorf("%s:%d: %s has no statement %s", file, i+1, conformance, n)
				}
			}
		}
	}
}

// checkRow checks the last two columns of a row.
func checkRow(here, shown string) error {
	verdict, reason, _ := strings.Cut(here, ".")
	switch verdict {
	case "Met", "Choice", "Deviates", "Not met", "Not applicable":
	default:
		return fmt.Errorf("verdict %q", verdict)
	}
	if verdict != "Met" && strings.TrimSpace(reason) == "" {
		return fmt.Errorf("%q without a reason", verdict)
	}
	tests := quoted.FindAllStringSubmatch(shown, -1)
	switch {
	case len(tests) == 0 && (verdict == "Met" || verdict == "Choice" || verdict == "Deviates"):
		return errors.New("shown by no test")
	case len(tests) > 0 && verdict == "Not applicable":
		return errors.New("shown by a test, and not applicable")
	}
	for _, m := range tests {
		if !qualified.MatchString(m[1]) {
			return fmt.Errorf("shown by %q, which is no test", m[1])
		}
	}
	if rest := strings.Trim(quoted.ReplaceAllString(shown, ""), ", "); rest != "" {
		return fmt.Errorf("%q beside the tests", rest)
	}
	return nil
}

// TestCheckRow checks that each kind of mistake in a row is found.
func TestCheckRow(t *testing.T) {
	for _, tt := range []struct {
		name, here, shown string
		ok                bool
	}{
		{"met", "Met. So.", "`mpa.TestAccept/section_6`, `cmd/rpcrdma.TestServe`", true},
		{"met, and no test", "Met. So.", "", false},
		{"met, and what is shown is no test", "Met.", "`mpa.TestAccept`, `mpa/accept.go`", false},
		{"met, and words", "Met.", "`mpa.TestAccept` and others", false},
		{"a choice", "Choice. So.", "`mpa.TestAccept`", true},
		{"a choice without a reason", "Choice.", "`mpa.TestAccept`", false},
		{"a choice, and no test", "Choice. So.", "", false},
		{"deviates", "Deviates. So.", "`mpa.TestAccept`", true},
		{"deviates without a reason", "Deviates.", "`mpa.TestAccept`", false},
		{"deviates, and no test", "Deviates. So.", "", false},
		{"not met", "Not met. It is missing.", "", true},
		{"not met in part", "Not met. One is missing.", "`mpa.TestAccept`", true},
		{"not met, and nothing is said to be missing", "Not met.", "", false},
		{"not applicable", "Not applicable. No SCTP.", "", true},
		{"not applicable, and a test", "Not applicable. No SCTP.", "`mpa.TestAccept`", false},
		{"not applicable without a reason", "Not applicable. ", "", false},
		{"another verdict", "Partly. So.", "`mpa.TestAccept`", false},
		{"no verdict", "", "`mpa.TestAccept`", false},
	} {
		if err := checkRow(tt.here, tt.shown); (err == nil) != tt.ok {
			t.Errorf("%s: got error %v, want none: %v", tt.name, err, tt.ok)
		}
	}
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
