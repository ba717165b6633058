package main

import (
	"bufio"
	"context"
	_ "embed" // libnfs/client.c
	"errors"
	"fmt"
	"io"
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

// missingLibnfs compiles the program in a directory, tells the processes of this command about it, and says why it cannot.
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
		return fmt.Errorf("libnfs cannot be compiled against (apt-get install gcc libc6-dev libnfs-dev): %w: %s", err, said)
	}
	return os.Setenv(libnfsVariable, program)
}

// libnfsClient is the program, which does the whole of a workload.
type libnfsClient struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr host.Tail
}

func dialLibnfs(_ context.Context, s paired.Sockets, addr string, w workload) (paired.Client, error) {
	cmd := exec.Command(os.Getenv(libnfsVariable), addr, string(w.op), strconv.Itoa(w.size), strconv.Itoa(w.inFlight), s.Congestion)
	c := &libnfsClient{cmd: cmd}
	cmd.Stderr = &c.stderr
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := c.out.ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("libnfs says %q: %w", line, err), c.Close())
	}
	return c, nil
}

// Run has n operations done.
func (c *libnfsClient) Run(n int, samples []time.Duration) error {
	if _, err := fmt.Fprintln(c.in, n); err != nil {
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

// CPU is what the program has used.
func (c *libnfsClient) CPU() time.Duration { return processCPU(c.cmd.Process.Pid) }

// Close has the program check what it has written, and end.
func (c *libnfsClient) Close() error {
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(c.stderr.String()))
	}
	return nil
}
