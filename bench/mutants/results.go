package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// results are those of a file, to which new ones are added.
type results struct {
	file  *os.File
	state string            // the commit and the arguments of go test
	known map[string]result // by key
}

// openResults reads the results of a file, which need not exist.
func openResults(path, state string) (*results, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &results{f, state, parseResults(string(b))}, nil
}

// parseResults parses lines of a key, an id, an outcome and a detail. It skips others, such as one
// that was cut short.
func parseResults(text string) map[string]result {
	known := make(map[string]result)
	for line := range strings.Lines(text) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 4 {
			known[f[0]] = result{f[2], f[3]}
		}
	}
	return known
}

// key differs when the commit, the arguments or the mutant do.
func (r *results) key(m mutant) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(r.state+"\n"+m.String())))[:16]
}

func (r *results) has(m mutant) bool { return r.known[r.key(m)].outcome != "" }

func (r *results) add(m mutant, got result) error {
	got.detail = strings.ReplaceAll(got.detail, "\t", " ")
	r.known[r.key(m)] = got
	_, err := fmt.Fprintf(r.file, "%s\t%s\t%s\t%s\n", r.key(m), m.id, got.outcome, got.detail)
	return err
}

// report returns a table of the packages, and the mutants that were not killed. Some are stale.
func (r *results) report(ms []mutant) (text string, old int) {
	rows := []string{"all"}
	made, dead := make(map[string]int), make(map[string]int)
	for _, m := range ms {
		if !slices.Contains(rows, m.dir()) {
			rows = append(rows, m.dir())
		}
		got := r.known[r.key(m)]
		for _, row := range []string{"all", m.dir()} {
			made[row]++
			if got.outcome == killed {
				dead[row]++
			}
		}
		if got.outcome != killed {
			text += fmt.Sprintf("%s: %s\n", got.outcome, m)
		}
		if got.outcome == stale {
			old++
		}
	}
	table := "| package | mutants | killed |\n|---|---|---|\n"
	for _, row := range append(rows[1:], "all") {
		table += fmt.Sprintf("| %s | %d | %d |\n", row, made[row], dead[row])
	}
	return table + "\n" + text, old
}
