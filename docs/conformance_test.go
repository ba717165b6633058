package docs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	conformance = "conformance.md" // the overview
	readings    = "readings.md"
)

var (
	qualified = regexp.MustCompile(`^((?:\w+/)*\w+)\.((?:Test|Fuzz|Example)\w*)(?:/(.+))?$`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	row       = regexp.MustCompile(`^\| (\S+) \| (.+) \| (.+) \| (.*)\|$`)
	number    = regexp.MustCompile(`\b(rpcrdma|6581|carrier|draft05|stewart|ib|rfc\d{4})-` +
		`(?:\d+|[A-E]\d*)(?:\.\d+)*-\d+[a-z]?\b`)
	document = regexp.MustCompile(`^\| \[[^]]+\]\((conformance/\S+\.md)\) \| [^|]+ \| (\w+) \| (.+) \|$`)
)

// verdicts are those that a statement may have, in the order of the overview's columns.
var verdicts = []string{"Met", "Choice", "Deviates", "Not met", "Not applicable"}

// documents are the files with the tables, one for each specification.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("conformance/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conformance/*.md: %v", err)
	}
	for i, file := range files {
		files[i] = filepath.ToSlash(file)
	}
	return files
}

// TestConformanceNames checks that every test named in the conformance tables exists in its
// package, and every case as a string in that test.
func TestConformanceNames(t *testing.T) {
	checkNames(t, append(documents(t), conformance)...)
}

// checkNames checks the tests that files name with their packages.
func checkNames(t *testing.T, files ...string) {
	t.Helper()
	pkgs := parseTests(t)
	for _, file := range files {
		if pkgs.checkFile(t, file) == 0 {
			t.Errorf("%s names no test", file)
		}
	}
}

// checkFile checks the tests that a file names, and returns their number.
func (p packages) checkFile(t *testing.T, file string) (named int) {
	t.Helper()
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
			if err := p.check(q[1], q[2], q[3]); err != nil {
				t.Errorf("%s:%d: %v", file, i+1, err)
			}
		}
	}
	return named
}

// statements are the rows of all tables: where each number is, and how many of each verdict each
// file has.
type statements struct {
	at       map[string]string         // by number: file:line
	verdicts map[string]map[string]int // by file, then by verdict
	prefixes map[string]map[string]int // by file, then by what its numbers begin with
}

// TestConformanceRows checks what conformance.md says about the tables: each statement has a number
// of its own, one of five verdicts, and tests or a reason. It also checks the overview's counts.
func TestConformanceRows(t *testing.T) {
	s := statements{make(map[string]string), make(map[string]map[string]int), make(map[string]map[string]int)}
	for _, file := range documents(t) {
		s.read(t, file)
	}
	s.checkOverview(t)
	// Tests, and other rows, cite the numbers.
	files := append(testFiles(t), documents(t)...)
	others, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, others...) {
		for i, line := range lines(t, file) {
			for _, n := range number.FindAllString(line, -1) {
				if s.at[n] == "" {
					t.Errorf("%s:%d: there is no statement %s", file, i+1, n)
				}
			}
		}
	}
}

// read reads and checks the rows of a file.
func (s statements) read(t *testing.T, file string) {
	t.Helper()
	s.verdicts[file], s.prefixes[file] = make(map[string]int), make(map[string]int)
	for i, line := range lines(t, file) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| number |") || strings.HasPrefix(line, "|---") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil || !number.MatchString(m[1]) {
			t.Errorf("%s:%d: not a row of number, statement, here, shown by", file, i+1)
			continue
		}
		if before, ok := s.at[m[1]]; ok {
			t.Errorf("%s:%d: %s is at %s, too", file, i+1, m[1], before)
		}
		s.at[m[1]] = fmt.Sprintf("%s:%d", file, i+1)
		if err := checkRow(m[3], m[4]); err != nil {
			t.Errorf("%s:%d: %s: %v", file, i+1, m[1], err)
		}
		verdict, _, _ := strings.Cut(m[3], ".")
		s.verdicts[file][verdict]++
		s.prefixes[file][number.FindStringSubmatch(m[1])[1]]++
	}
}

// checkOverview checks that the overview's table has each file, with its prefix and its numbers of
// statements and verdicts.
func (s statements) checkOverview(t *testing.T) {
	t.Helper()
	listed := make(map[string]bool)
	for i, line := range lines(t, conformance) {
		m := document.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		file, total, counts := m[1], 0, ""
		listed[file] = true
		for _, v := range verdicts {
			total += s.verdicts[file][v]
			counts += fmt.Sprintf(" | %d", s.verdicts[file][v])
		}
		if want := strconv.Itoa(total) + counts; m[3] != want {
			t.Errorf("%s:%d: %s has %s, want %s", conformance, i+1, file, m[3], want)
		}
		if s.prefixes[file][m[2]] != total {
			t.Errorf("%s:%d: %s: prefix %s, want the one of %v", conformance, i+1, file, m[2], s.prefixes[file])
		}
	}
	for file := range s.verdicts {
		if !listed[file] {
			t.Errorf("%s does not list %s", conformance, file)
		}
	}
}

// checkRow checks the last two columns of a row.
func checkRow(here, shown string) error {
	verdict, reason, _ := strings.Cut(here, ".")
	if !slices.Contains(verdicts, verdict) {
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
