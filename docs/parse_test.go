package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// the last are cases of a conformance suite, and functions with those of a test
var testName = regexp.MustCompile(`^(Test|Fuzz|Example|Benchmark)\w*$|^test[A-Z]\w*$`)

// parseTests reads all test files of the module.
func parseTests(t *testing.T) packages {
	t.Helper()
	p := make(packages)
	for _, file := range testFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		path := packageOf(file)
		if p[path] == nil {
			p[path] = &tests{funcs: make(map[string][]string)}
		}
		p[path].add(f)
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

// packageOf returns the path in the module of the package that a file below ".." is part of.
func packageOf(file string) string {
	return strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
}

// testFiles are the paths of all test files of the module but this, and of what has their cases.
func testFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || packageOf(path) == "docs":
		case strings.HasSuffix(path, "_test.go") || isSuite(packageOf(path)) || isTable(packageOf(path)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
