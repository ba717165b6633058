package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	security = "security.md"
	bounds   = "security-bounds.md"
)

var (
	threatRow = regexp.MustCompile(`^\| (.+) \| (.+) \| (.*)\| (.*)\|$`)
	fieldName = regexp.MustCompile(`^([a-z]\w*)\.([A-Z]\w*)\.([A-Z]\w*)$`)
)

// TestSecurityNames checks that every test that security-bounds.md names exists.
func TestSecurityNames(t *testing.T) { checkNames(t, bounds) }

// TestSecurityRows checks that tests show the answer to each threat of security-bounds.md, unless
// it begins with "Outside.".
func TestSecurityRows(t *testing.T) {
	rows := 0
	for i, line := range section(t, "## Threats") {
		m := threatRow.FindStringSubmatch(line)
		if m == nil || m[1] == "threat" || strings.HasPrefix(m[1], "---") {
			continue
		}
		rows++
		tests := quoted.FindAllStringSubmatch(m[4], -1)
		for _, name := range tests {
			if !qualified.MatchString(name[1]) {
				t.Errorf("%s, threat in line %d: shown by %q, which is no test", bounds, i, name[1])
			}
		}
		if outside := strings.HasPrefix(m[2], "Outside."); outside != (len(tests) == 0) {
			t.Errorf("%s, threat in line %d: outside %v, shown by %d tests", bounds, i, outside,
				len(tests))
		}
	}
	if rows == 0 {
		t.Errorf("%s has no threats", bounds)
	}
}

// section returns the lines of a part of security-bounds.md, by their numbers in it.
func section(t *testing.T, head string) map[int]string {
	t.Helper()
	in, part := false, make(map[int]string)
	for i, line := range lines(t, bounds) {
		if strings.HasPrefix(line, "## ") {
			in = line == head
		}
		if in {
			part[i+1] = line
		}
	}
	return part
}

// TestSecurityFields checks that every field of a configuration that security.md and
// security-bounds.md name exists.
func TestSecurityFields(t *testing.T) {
	have := structFields(t)
	for _, file := range []string{security, bounds} {
		if checkFields(t, file, have) == 0 {
			t.Errorf("%s names no field", file)
		}
	}
}

// checkFields checks the fields that a file names, and returns their number.
func checkFields(t *testing.T, file string, have map[string]bool) (named int) {
	t.Helper()
	for i, line := range lines(t, file) {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			f := fieldName.FindStringSubmatch(m[1])
			if f == nil {
				continue
			}
			if qualified.MatchString(m[1]) {
				continue // a test
			}
			named++
			if !have[m[1]] {
				t.Errorf("%s:%d: there is no %s", file, i+1, m[1])
			}
		}
	}
	return named
}

// structFields are the exported fields of the module, as package.Type.Field.
func structFields(t *testing.T) map[string]bool {
	t.Helper()
	have := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			addFields(have, f.Name.Name, decl)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// addFields adds those of the structs that a declaration declares.
func addFields(have map[string]bool, pkg string, decl ast.Decl) {
	types, ok := decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range types.Specs {
		named, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s, ok := named.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range s.Fields.List {
			for _, name := range f.Names {
				have[pkg+"."+named.Name.Name+"."+name.Name] = true
			}
		}
	}
}
