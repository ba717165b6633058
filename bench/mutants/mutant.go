package main

import (
	"fmt"
	"path"
	"strings"
)

// The kinds of mutants.
const (
	negated = "negated" // the condition of an if or for
	removed = "removed" // an assignment or a call
	offBy   = "off-by"  // "<" becomes "<=" or the other way round, or a number one more
	swapped = "swapped" // a constant becomes the next one of its block
)

// mutant is one change to the code. It names its place so that it is found when other code moves.
type mutant struct {
	id     string
	path   string // of the file, from the top of the repository
	fn     string // the function around it: f, T.f or (*T).f
	kind   string
	n      int // of the places in fn with this kind and these texts, counted from 1
	before string
	after  string
}

func (m mutant) dir() string { return path.Dir(m.path) }

// header begins the list.
const header = `# Mutants: id, file, function, kind, which of several, before => after.
# Written by: go run ./bench/mutants -make
`

// String returns the mutant as a line of the list.
func (m mutant) String() string {
	change := strings.TrimSuffix(m.before+" => "+m.after, " ")
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s", m.id, m.path, m.fn, m.kind, m.n, change)
}

// parseList parses the list. Empty lines and lines with "#" are skipped.
func parseList(text string) (ms []mutant, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("%q does not have six fields", line)
		}
		m := mutant{id: f[0], path: f[1], fn: f[2], kind: f[3]}
		before, after, ok := strings.Cut(f[5], " =>")
		if _, err := fmt.Sscan(f[4], &m.n); err != nil || !ok {
			return nil, fmt.Errorf("%q: want a number, and before => after", line)
		}
		m.before, m.after = before, strings.TrimPrefix(after, " ")
		ms = append(ms, m)
	}
	return ms, nil
}
