package copy

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rig is what all ways of copying have in common.
type rig struct {
	b       *testing.B
	dir     string // where the files are
	source  string // the file
	command string // rpcrdma
	rdma    string // URLs of the server's export
	tcp     string
}

// way is one way to copy the file.
type way struct {
	name string
	to   string // the local file that it makes; none if empty
	run  func(r *rig) (cpu time.Duration, err error)
}

// ways are all of them, in the order of a round. What comes down went up before.
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

// finish runs a process, and returns the processor time that it took.
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
	in := child(receiver, "127.0.0.1:0", r.path("raw"))
	in.Stderr = os.Stderr
	out, err := in.StdoutPipe()
	if err == nil {
		err = in.Start()
	}
	if err != nil {
		return 0, err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, errors.Join(err, in.Wait())
	}
	cpu, err := finish(child(sender, strings.TrimSpace(addr), r.source))
	if err != nil {
		_ = in.Process.Kill() // it waits for a sender
	}
	if err := errors.Join(err, in.Wait()); err != nil {
		return 0, err
	}
	return cpu + used(in), nil
}

// child is this program, as an end of a raw connection.
func child(role, addr, name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], addr, name)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	return cmd
}
