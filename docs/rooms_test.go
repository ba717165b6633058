package docs_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRooms: references between the files of rpcrdma run down the list in ARCHITECTURE.md, with few
// exceptions.
func TestRooms(t *testing.T) {
	const most = 15 // per cent
	refs := references(t, "../rpcrdma")
	rooms := regexp.MustCompile("(?s)run down this list.*?```text\n(.*?)```").
		FindStringSubmatch(read(t, "../ARCHITECTURE.md"))[1]
	rank := func(file string) int {
		for i, line := range strings.Split(rooms, "\n") {
			for _, name := range strings.Split(strings.SplitN(line, "  ", 2)[0], ", ") {
				if ok, _ := path.Match(strings.Fields(name + " -")[0], file); ok {
					return i
				}
			}
		}
		t.Errorf("ARCHITECTURE.md does not say where rpcrdma/%s stands", file)
		return 0
	}
	up := 0
	for ref := range refs {
		if rank(ref[0]) > rank(ref[1]) {
			up++
			t.Logf("%s refers up to %s", ref[0], ref[1])
		}
	}
	if t.Logf("%d of %d", up, len(refs)); 100*up > most*len(refs) {
		t.Errorf("%d of %d references go up, want at most %d %%", up, len(refs), most)
	}
}

// references returns which files of a package use what others declare.
func references(t *testing.T, dir string) map[[2]string]bool {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	paths, _ := filepath.Glob(dir + "/*.go")
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	exported := func(path string) (io.ReadCloser, error) {
		out, err := exec.Command("go", "list", "-export", "-f", "{{.Export}}", path).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return os.Open(strings.TrimSpace(string(out)))
	}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object)}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", exported)}
	pkg, err := conf.Check("rpcrdma", fset, files, &info)
	if err != nil {
		t.Fatal(err)
	}
	refs := make(map[[2]string]bool)
	for id, o := range info.Uses {
		from, to := fset.Position(id.Pos()).Filename, fset.Position(o.Pos()).Filename
		if o.Pkg() == pkg && from != to {
			refs[[2]string{filepath.Base(from), filepath.Base(to)}] = true
		}
	}
	return refs
}
