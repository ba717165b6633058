package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestSystems: for a system of 32 bits the build fails with a name that says why, in the two
// packages that import none of the others.
func TestSystems(t *testing.T) {
	for _, name := range []string{"../xdr/wordsize.go", "../transport/wordsize.go"} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for arch, fails := range map[string]bool{"amd64": false, "arm64": false, "386": true, "arm": true} {
			check := types.Config{Sizes: types.SizesFor("gc", arch)}
			_, err := check.Check(file.Name.Name, files, []*ast.File{file}, nil)
			if (err != nil) != fails || fails && !strings.Contains(err.Error(), "only64BitSystemsAreSupported") {
				t.Errorf("%s for %s: got %v", name, arch, err)
			}
		}
	}
}
