package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	conformance = "conformance.md"
	readings    = "readings.md"
)

var (
	testName  = regexp.MustCompile(`^(Test|Fuzz|Example|Benchmark)\w*$|^test[A-Z]\w*$`) // the last are cases of a conformance suite
	qualified = regexp.MustCompile(`^(\w+)\.((?:Test|Fuzz|Example)\w*)(?:/(.+))?$`)
	quoted    = regexp.MustCompile("`([^`]+)`")
	row       = regexp.MustCompile(`^\| (\S+) \| (.+) \| (.+) \| (.*)\|$`)
	number    = regexp.MustCompile(`\b(?:6581|carrier|draft05)-\d+(?:\.\d+)*-\d+[a-z]?\b`)
)

// TestConformanceNames checks that every test that conformance.md names exists in its package, and every case of a test as a string there.
func TestConformanceNames(t *testing.T) {
	pkgs := parseTests(t)
	named := 0
	for i, line := range lines(t, conformance) {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			q := qualified.FindStringSubmatch(m[1])
			if q == nil {
				if testName.MatchString(m[1]) {
					t.Errorf("%s:%d: test %s without its package", conformance, i+1, m[1])
				}
				continue
			}
			named++
			if err := pkgs.find(q[1], q[2], q[3]); err != nil {
				t.Errorf("%s:%d: %v", conformance, i+1, err)
			}
		}
	}
	if named == 0 {
		t.Errorf("%s names no test", conformance)
	}
}

// TestReadingsNames checks that every test that readings.md names exists. There the package is in the sentence around it, so any will do.
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

// TestConformanceRows checks what the introduction of conformance.md says about its tables: each statement has a number of its own, one of three verdicts, and a
// test unless it does not apply.
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
		verdict, _, _ := strings.Cut(m[3], ".")
		switch verdict {
		case "Met", "Choice":
			if !strings.Contains(m[4], "`") {
				t.Errorf("%s:%d: %s is shown by no test", conformance, i+1, m[1])
			}
		case "Not applicable":
		default:
			t.Errorf("%s:%d: %s: verdict %q", conformance, i+1, m[1], verdict)
		}
	}
	if len(seen) == 0 {
		t.Errorf("%s has no rows", conformance)
	}
	// Tests, and other rows, cite the numbers.
	for _, file := range append(testFiles(t), conformance) {
		for i, line := range lines(t, file) {
			for _, n := range number.FindAllString(line, -1) {
				if seen[n] == 0 {
					t.Errorf("%s:%d: %s has no statement %s", file, i+1, conformance, n)
				}
			}
		}
	}
}

// tests is what the test files of a package declare.
type tests struct {
	funcs  map[string][]string // the strings in each Test, Fuzz and Example
	shared []string            // those outside of them: tables of several tests, and helpers
}

// packages are those of this module that have tests, by the last element of their path.
type packages map[string]*tests

// find says what is missing of a test, or of a case of its table.
func (p packages) find(pkg, test, name string) error {
	have, ok := p[pkg]
	if !ok {
		return fmt.Errorf("there is no package %s with tests", pkg)
	}
	own, ok := have.funcs[test]
	if !ok {
		return fmt.Errorf("package %s has no %s", pkg, test)
	}
	if name == "" || slices.Contains(own, name) || slices.Contains(have.shared, name) {
		return nil
	}
	return fmt.Errorf("%s.%s has no case %q", pkg, test, strings.ReplaceAll(name, "_", " "))
}

// anywhere reports whether any package has a test.
func (p packages) anywhere(test string) bool {
	for _, have := range p {
		if _, ok := have.funcs[test]; ok {
			return true
		}
	}
	return false
}

// parseTests reads all test files of the module.
func parseTests(t *testing.T) packages {
	t.Helper()
	p := make(packages)
	for _, file := range testFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file))
		if p[name] == nil {
			p[name] = &tests{funcs: make(map[string][]string)}
		}
		p[name].add(f)
	}
	return p
}

// add adds the declarations of a file.
func (s *tests) add(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && testName.MatchString(fn.Name.Name) {
			s.funcs[fn.Name.Name] = literals(fn)
			continue
		}
		s.shared = append(s.shared, literals(d)...)
	}
}

// literals are the strings in n, as the testing package names cases after them.
func literals(n ast.Node) (list []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				list = append(list, strings.ReplaceAll(s, " ", "_"))
			}
		}
		return true
	})
	return list
}

// testFiles are the paths of all test files of the module but this, and of the conformance suites.
func testFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go") && filepath.Base(filepath.Dir(path)) != "docs",
			strings.HasSuffix(filepath.Dir(path), "test") && strings.HasSuffix(path, ".go"): // a conformance suite
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
