package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// allocations are those of one operation, by "PACKAGE BENCHMARK".
type allocations map[string]int

// module is the prefix of packages, which the table leaves out.
const module = "github.com/rpcrdma/go-rpcrdma/"

// header begins the table.
const header = `# Allocations per operation that benchmarks may make. Written by: go run ./bench/allocs -update
`

// errNone means that a table or an output has no benchmarks.
var errNone = errors.New("no benchmarks")

// parse parses the output of go test -bench -benchmem: lines "pkg: PACKAGE", each followed by lines
// "BenchmarkNAME N V UNIT V UNIT...".
func parse(out []byte) (allocations, error) {
	all := make(allocations)
	pkg := ""
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "pkg: "); ok {
			pkg = strings.TrimPrefix(rest, module)
			continue
		}
		f := strings.Fields(s.Text())
		if len(f) < 2 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		i := slices.Index(f, "allocs/op")
		if i < 1 {
			return nil, fmt.Errorf("no allocations in %q", s.Text())
		}
		n, err := strconv.Atoi(f[i-1])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.Text(), err)
		}
		if err := all.add(pkg+" "+strings.TrimPrefix(f[0], "Benchmark"), n); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, errNone
	}
	return all, nil
}

// readTable parses lines "ALLOCATIONS PACKAGE BENCHMARK". Empty lines and lines with "#" are
// skipped.
func readTable(b []byte) (allocations, error) {
	all := make(allocations)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != 3 {
			return nil, fmt.Errorf("%q is not a number, a package and a benchmark", strings.TrimSpace(line))
		}
		n, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, err
		}
		if err := all.add(f[1]+" "+f[2], n); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, errNone
	}
	return all, nil
}

func (a allocations) add(name string, n int) error {
	if _, ok := a[name]; ok {
		return fmt.Errorf("%s is there twice", name)
	}
	a[name] = n
	return nil
}

// append appends the table to b.
func (a allocations) append(b []byte) []byte {
	b = append(b, header...)
	for _, name := range slices.Sorted(maps.Keys(a)) {
		b = fmt.Appendf(b, "%d\t%s\n", a[name], name)
	}
	return b
}
