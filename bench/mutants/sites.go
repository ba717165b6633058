package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// site is a place in the code for a mutant, which has no id yet.
type site struct {
	mutant
	src      string // of the file
	from, to int    // where the text before is
}

// apply returns the source of the file with the mutant.
func (s site) apply() string { return s.src[:s.from] + s.after + s.src[s.to:] }

// readSites returns the sites of the files of a package that are compiled on this machine.
func readSites(dir string) ([]site, error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for _, name := range p.GoFiles {
		b, err := os.ReadFile(path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files[path.Join(dir, name)] = string(b)
	}
	return findSites(files)
}

// finder finds the sites of a file.
type finder struct {
	path, src string
	fn        string // see mutant
	file      *token.File
	next      map[string]string // of each constant of the package, the next one of its block
	count     map[mutant]int    // sites that are the same but for their number
	sites     []site
}

// findSites returns the sites of the files of a package, which it gets by path.
func findSites(files map[string]string) (all []site, err error) {
	fset := token.NewFileSet()
	parsed := make(map[string]*ast.File)
	next := make(map[string]string)
	for name, src := range files {
		if parsed[name], err = parser.ParseFile(fset, name, src, parser.ParseComments); err != nil {
			return nil, err
		}
		constants(parsed[name], next)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := parsed[name]
		if ast.IsGenerated(f) {
			continue
		}
		d := finder{
			path: name, src: files[name], file: fset.File(f.FileStart), next: next,
			count: make(map[mutant]int),
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				d.fn = nameOf(fn)
				ast.PreorderStack(fn.Body, []ast.Node{fn}, d.visit)
			}
		}
		all = append(all, d.sites...)
	}
	return all, nil
}

// constants adds, for each constant of the file, the next one of its block.
func constants(f *ast.File, next map[string]string) {
	for _, decl := range f.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		var names []string
		for _, spec := range block.Specs {
			for _, id := range spec.(*ast.ValueSpec).Names {
				if id.Name != "_" {
					names = append(names, id.Name)
				}
			}
		}
		for i, name := range names {
			next[name] = names[(i+1)%len(names)]
		}
	}
}

// nameOf returns f, T.f or (*T).f.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := types.ExprString(fn.Recv.List[0].Type)
	if strings.HasPrefix(t, "*") {
		t = "(" + t + ")"
	}
	return t + "." + fn.Name.Name
}

// others has the operators that are off by one.
var others = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
}

// visit adds the sites of a node below others.
func (d *finder) visit(n ast.Node, above []ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		d.negate(n.Cond)
	case *ast.ForStmt:
		d.negate(n.Cond)
	case *ast.ExprStmt:
		d.add(removed, n, n.Pos(), n.End(), "")
	case *ast.AssignStmt:
		text := d.text(n.Pos(), n.End())
		nothing := strings.HasPrefix(text, "_ = ") && !strings.Contains(text, "(")
		if n.Tok == token.ASSIGN && !nothing {
			d.add(removed, n, n.Pos(), n.End(), "")
		}
	case *ast.BinaryExpr:
		if op := others[n.Op]; op != "" {
			d.add(offBy, n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op)
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil && n.Kind == token.INT {
			d.add(offBy, above[len(above)-1], n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
		}
	case *ast.Ident:
		next := d.next[n.Name]
		sel, ok := above[len(above)-1].(*ast.SelectorExpr)
		if next == "" || next == n.Name || ok && sel.Sel == n {
			break
		}
		// Without an object, n is of another file, or a field. A field does not compile.
		if n.Obj == nil || n.Obj.Kind == ast.Con { //nolint:staticcheck // types would take long
			d.add(swapped, above[len(above)-1], n.Pos(), n.End(), next)
		}
	}
	return true
}

func (d *finder) negate(cond ast.Expr) {
	if cond != nil {
		d.add(negated, cond, cond.Pos(), cond.End(), "!("+d.text(cond.Pos(), cond.End())+")")
	}
}

// add adds the site where the text between two positions becomes another. So that the list can be
// read, it has the text of the node around, if that is one line.
func (d *finder) add(kind string, around ast.Node, from, to token.Pos, after string) {
	start, end := around.Pos(), around.End()
	if strings.Contains(d.text(start, end), "\n") {
		start, end = from, to
	}
	before := d.text(start, end)
	if strings.ContainsAny(before, "\n\t") || strings.Contains(before, " =>") {
		return
	}
	m := mutant{path: d.path, fn: d.fn, kind: kind, before: before}
	m.after = d.text(start, from) + after + d.text(to, end)
	d.count[m]++
	s := site{m, d.src, d.file.Offset(start), d.file.Offset(end)}
	s.n = d.count[m]
	d.sites = append(d.sites, s)
}

func (d *finder) text(from, to token.Pos) string {
	return d.src[d.file.Offset(from):d.file.Offset(to)]
}
