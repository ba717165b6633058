package main

import (
	"bufio"
	"context"
	_ "embed" // libnfs/client.c
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

//go:embed libnfs/client.c
var libnfsSource string

// libnfsVariable is the environment variable with the path of the compiled program.
const libnfsVariable = "COMPARE_LIBNFS"

// missingLibnfs compiles the program in dir and sets libnfsVariable, or says why it cannot.
func missingLibnfs(dir string) error {
	if os.Getenv(libnfsVariable) != "" {
		return nil
	}
	source, program := filepath.Join(dir, "libnfs.c"), filepath.Join(dir, "libnfs")
	if err := os.WriteFile(source, []byte(libnfsSource), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("gcc", "-O2", "-o", program, source, "-lnfs").CombinedOutput(); err != nil {
		said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("libnfs cannot be compiled against (apt-get install gcc libc6-dev libnfs-dev): %w: %s",
			err, said)
	}
	return os.Setenv(libnfsVariable, program)
}

// libnfsClient is the running program, which does a whole workload.
type libnfsClient struct {
	*host.Child
	out *bufio.Reader
}

func dialLibnfs(ctx context.Context, s paired.Sockets, addr string, w workload) (paired.Client, error) {
	p := host.Program{
		Path: os.Getenv(libnfsVariable),
		Args: []string{addr, string(w.op), strconv.Itoa(w.size), strconv.Itoa(w.inFlight), s.Congestion},
	}
	child, err := p.Start(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	c := &libnfsClient{child, bufio.NewReader(child.Out)}
	if line, err := c.out.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("libnfs says %q: %w", line, err), c.Close())
	}
	return c, nil
}

// Run makes the program do n operations.
func (c *libnfsClient) Run(n int, samples []time.Duration) error {
	if _, err := fmt.Fprintln(c.In, n); err != nil {
		return errors.Join(err, c.Close())
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return errors.Join(err, c.Close())
	}
	fields := strings.Fields(line)
	if len(fields) != 1+len(samples) {
		return fmt.Errorf("libnfs answers %q to %d operations", line, n)
	}
	for i := range samples {
		ns, err := strconv.ParseInt(fields[1+i], 10, 64)
		if err != nil {
			return err
		}
		samples[i] = time.Duration(ns)
	}
	return nil
}

// Close makes the program check what it has written, and end.
func (c *libnfsClient) Close() error { return c.Stop(startLimit) }
