package copy

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// rig is shared by all ways to copy.
type rig struct {
	b       *testing.B
	dir     string // directory of the files
	source  string // the file
	command string // rpcrdma
	rdma    string // URLs of the server's export
	tcp     string
}

// way is one way to copy the file.
type way struct {
	name string
	to   string // local file that it makes; may be empty
	run  func(r *rig) (cpu time.Duration, err error)
}

func (w way) String() string { return w.name }

// ways has all ways in the order of a round. A get copies what a put before it has stored.
var ways = []way{
	{"cp", "cp", func(r *rig) (time.Duration, error) { return finish(exec.Command("cp", r.source, r.path("cp"))) }},
	{"raw TCP", "raw", (*rig).raw},
	{"put", "", func(r *rig) (time.Duration, error) { return r.rpcrdma("put", r.source, r.rdma+"/file") }},
	{"get", "get", func(r *rig) (time.Duration, error) { return r.rpcrdma("get", r.rdma+"/file", r.path("get")) }},
	{"put over TCP", "", func(r *rig) (time.Duration, error) { return r.rpcrdma("put", r.source, r.tcp+"/file") }},
	{"get over TCP", "get-tcp", func(r *rig) (time.Duration, error) { return r.rpcrdma("get", r.tcp+"/file", r.path("get-tcp")) }},
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) rpcrdma(args ...string) (time.Duration, error) {
	return finish(exec.Command(r.command, args...))
}

// finish runs a process, and returns its CPU time.
func finish(cmd *exec.Cmd) (time.Duration, error) {
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, errors.Join(err, errors.New(string(out)))
	}
	return used(cmd), nil
}

func used(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// raw copies the file from one process to another.
func (r *rig) raw() (time.Duration, error) {
	ctx := r.b.Context()
	in, err := host.Program{Role: receiver, Args: []string{"127.0.0.1:0", r.path("raw")}}.Start(ctx)
	if err != nil {
		return 0, err
	}
	addr, err := bufio.NewReader(in.Out).ReadString('\n')
	if err != nil {
		return 0, errors.Join(err, in.Stop(host.Grace))
	}
	out, err := host.Program{Role: sender, Args: []string{strings.TrimSpace(addr), r.source}}.Start(ctx)
	if err != nil {
		return 0, errors.Join(err, in.Stop(0)) // it still waits for a sender
	}
	_, _ = io.Copy(io.Discard, out.Out) // wait for its end
	if err := errors.Join(out.Stop(host.Grace), in.Stop(host.Grace)); err != nil {
		return 0, err
	}
	return used(out.Cmd) + used(in.Cmd), nil
}
