package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
)

// groups are the packages that get mutants. Those of one line share theirs.
var groups = [][]string{
	{"rpcrdma", "rpcrdma/internal/wire", "rpcrdma/internal/post", "rpcrdma/internal/memory"},
	{"transport/iwarp"},
	{"transport/roce", "transport/roce/rc"},
	{"transport/iwarp/sctp"},
	{"oncrpc"},
	{"oncrpc/gss"},
	{"nfsdemo/nfsserver"},
	{"nfsdemo/dirfs"},
	{"cmd/rpcrdma/internal/copying"},
	{"gateway"},
}

// each is how many mutants a group gets.
const each = 6

// makeList writes the list of mutants.
func makeList() error {
	var b strings.Builder
	b.WriteString(header)
	for i, dirs := range groups {
		var sites []site
		for _, dir := range dirs {
			more, err := readSites(dir)
			if err != nil {
				return err
			}
			sites = append(sites, more...)
		}
		ms := choose(sites, i, site.compiles)
		if len(ms) < each {
			return fmt.Errorf("%s: only %d mutants compile", dirs[0], len(ms))
		}
		for j, m := range ms {
			m.id = fmt.Sprintf("%s-%d", path.Base(dirs[0]), j+1)
			fmt.Fprintln(&b, m)
		}
	}
	return os.WriteFile(list, []byte(b.String()), 0o644)
}

// choose returns mutants that compile, of each kind in turn, and from as many files as can be. For
// the same sites and seed it returns the same.
func choose(sites []site, seed int, compiles func(site) bool) (ms []mutant) {
	r := rand.New(rand.NewPCG(1, uint64(seed)))
	r.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	kinds := []string{negated, removed, offBy, swapped}
	used := make(map[string]int) // mutants of a file
	for turn := seed * each; len(ms) < each && len(sites) > 0; {
		slices.SortStableFunc(sites, func(a, b site) int { return used[a.path] - used[b.path] })
		i := slices.IndexFunc(sites, func(s site) bool { return s.kind == kinds[turn%len(kinds)] })
		if i < 0 {
			turn++
			continue
		}
		s := sites[i]
		sites = slices.Delete(sites, i, i+1)
		if compiles(s) {
			ms = append(ms, s.mutant)
			used[s.path]++
			turn++
		}
	}
	return ms
}
