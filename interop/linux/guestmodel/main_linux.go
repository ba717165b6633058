// Command guestmodel does random things with files in a directory, by system calls, and compares
// what is there with what it has done: in a guest, on a mount.
//
//	guestmodel DIR SEED STEPS MODEL     does so many steps, and writes to MODEL what must be there
//	guestmodel DIR MODEL                compares that
package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/rpcrdma/go-rpcrdma/internal/treemodel"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "guestmodel:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch len(args) {
	case 2:
		b, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		m, err := treemodel.Load(bytes.NewReader(b))
		if err != nil {
			return err
		}
		return m.Compare(treemodel.Local(args[0]))
	case 4:
	default:
		return fmt.Errorf("%d arguments", len(args))
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	steps, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	m, files := treemodel.New(seed, 1), treemodel.Local(args[0])
	for n := range steps {
		if err := m.Step(files); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
	}
	if err := m.Compare(files); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := m.Save(&b); err != nil {
		return err
	}
	return os.WriteFile(args[3], b.Bytes(), 0o600)
}
