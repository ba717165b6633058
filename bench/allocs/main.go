// Allocs runs the benchmarks of the layers and compares their allocations per operation with those
// in allocs.txt. They may fall but must not rise. It ignores times, which depend on the machine.
// Run it from the top of the repository:
//
//	go run ./bench/allocs           # fails on a rise, and if names differ from the table's
//	go run ./bench/allocs -update   # writes a new table
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
)

// table is the file with the allowed allocations.
const table = "bench/allocs/allocs.txt"

// packages are those whose benchmarks allocate the same in every run: none of them waits for a
// network.
var packages = []string{
	"./bench/gss", "./chunks", "./credits", "./metrics", "./nfsdemo/nfs3", "./oncrpc", "./oncrpc/gss",
	"./rpcrdma", "./transport/iwarp/ddp", "./transport/iwarp/mpa", "./transport/iwarp/rdmap",
	"./transport/loopback", "./xdr",
}

// skipped are their benchmarks that are only about time: yardsticks, and ways over TCP.
const skipped = `^BenchmarkCRC$|^BenchmarkPaired|/^(channels|copy.*|tcp\+.*)$`

// iterations is how often a benchmark runs. It is large enough that what the first iterations
// allocate is less than one allocation for each.
const iterations = "500x"

func main() {
	update := flag.Bool("update", false, "write the table anew")
	flag.Parse()
	if err := run(*update); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(update bool) error {
	out, err := benchmark()
	if err != nil {
		return err
	}
	got, err := parse(out)
	if err != nil {
		return err
	}
	if update {
		return os.WriteFile(table, got.append(nil), 0o644)
	}
	b, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	allowed, err := readTable(b)
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	report := compare(allowed, got)
	os.Stdout.WriteString(report.text)
	if report.bad > 0 {
		return errors.New("allocations have risen, or the table is out of date; " +
			"to accept them: go run ./bench/allocs -update")
	}
	fmt.Printf("%d benchmarks allocate no more than they may\n", len(got))
	return nil
}

// benchmark runs the benchmarks, and returns the output of go test. It uses one processor and no
// garbage collection, which would empty pools, so that they allocate the same each time.
func benchmark() ([]byte, error) {
	args := []string{"test", "-run", "^$", "-bench", ".", "-skip", skipped,
		"-benchtime", iterations, "-benchmem", "-cpu", "1", "-timeout", "2m"}
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Env = append(os.Environ(), "GOGC=off")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, out.Bytes())
	}
	return out.Bytes(), nil
}
