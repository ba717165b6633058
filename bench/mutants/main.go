// Mutants measures the tests. It changes the code in one place, runs the tests of the package, and
// says whether they notice. Nothing in the tree is changed. Run it from the top of the repository:
//
//	go run ./bench/mutants                        # runs those of mutants.txt: an hour
//	go run ./bench/mutants -pkg gateway,oncrpc    # those of two packages
//	go run ./bench/mutants -o race.txt -- -race   # with arguments for go test
//	go run ./bench/mutants -make                  # writes a new list, on Linux
//
// It adds each result to a file as it comes. Started again, it skips mutants whose result for this
// commit, with these arguments, is in the file. A mutant that survives is not an error, as it may
// do the same as the code. A stale mutant is one: its place in the code is gone, or it no longer
// compiles.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// list is the file with the mutants.
const list = "bench/mutants/mutants.txt"

func main() {
	fresh := flag.Bool("make", false, "write a new list of mutants")
	output := flag.String("o", "bench/mutants/results.txt", "the `file` that results are added to")
	only := flag.String("pkg", "",
		"run only the mutants of these `directories`, separated by commas")
	flag.Parse()
	var err error
	if *fresh {
		err = makeList()
	} else {
		err = run(*output, *only, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the mutants that have no result yet, and prints what became of all.
func run(output, only string, args []string) error {
	b, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	ms, err := parseList(string(b))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	if only != "" {
		dirs := strings.Split(only, ",")
		ms = slices.DeleteFunc(ms, func(m mutant) bool { return !slices.Contains(dirs, m.dir()) })
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	all, err := openResults(output, strings.TrimSpace(string(commit))+" "+strings.Join(args, " "))
	if err != nil {
		return err
	}
	defer all.file.Close()
	testers := make(map[string]*tester) // by directory
	for _, m := range ms {
		if all.has(m) {
			continue
		}
		if testers[m.dir()] == nil {
			if testers[m.dir()], err = newTester(m.dir(), args); err != nil {
				return err
			}
		}
		r, err := testers[m.dir()].run(m)
		if err != nil {
			return err
		}
		fmt.Println(m.id, r.outcome, r.detail)
		if err := all.add(m, r); err != nil {
			return err
		}
	}
	text, old := all.report(ms)
	fmt.Print(text)
	if old > 0 {
		return fmt.Errorf("%d mutants are stale; for a new list: go run ./bench/mutants -make", old)
	}
	return nil
}
