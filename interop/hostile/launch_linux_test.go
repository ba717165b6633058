package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// An attack runs in a separate process of this test's binary, so its CPU time is not counted as the
// bystanders'. It has the lowest priority, because a real attacker's host does not use the server's
// processors.

// launchVar is the environment variable that turns the program into an attack.
const launchVar = "HOSTILE_ATTACK"

// launched is its value, as JSON.
type launched struct {
	Attack             int // of attacks
	Way                way
	Conns              int
	RDMA, TCP, Metrics string
	SCTP               int
	Net, Outsider      string
	File               []byte
	Limits             [3]int
}

// pace is how long an attack takes to reach its full effect.
const pace = 2 * time.Second

// raid is the process of an attack.
type raid struct {
	cmd *exec.Cmd
	end func()
}

// signal stops or continues the process.
func (r *raid) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// launch starts a process that attacks, and returns when the attack has reached its full effect.
func (a *attack) launch(t *testing.T, s *site, w way, conns int) *raid {
	t.Helper()
	return launch(t, s, indexOf(a.name, w), w, conns)
}

// indexOf returns the index of the row of an attack by a way.
func indexOf(name string, w way) int {
	return slices.IndexFunc(attacks, func(a attack) bool {
		return a.name == name && slices.Contains(a.over, w)
	})
}

// goodClients stand in the place of the index of an attack for those of TestSlow.
const goodClients = -1

// launch starts a process with what has that index.
func launch(t *testing.T, s *site, index int, w way, conns int) *raid {
	t.Helper()
	what, err := json.Marshal(launched{
		index, w, conns, s.rdma, s.tcp, s.metrics, s.sctp, s.net, s.outsider, s.file.Bytes(),
		[3]int{s.limits.maxMessage, s.limits.maxRecord, s.limits.inFlight},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), launchVar+"="+string(what))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out); err != nil && err.Error() != "unexpected newline" {
		t.Errorf("the process has not begun: %v", err)
	}
	return &raid{cmd, func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process: %v", err)
		}
	}}
}

// lowestPriority gives this process only the CPU time that others leave. Linux has a priority for
// each thread, and new threads inherit it.
func lowestPriority() {
	threads, err := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		err = errors.Join(err, syscall.Setpriority(syscall.PRIO_PROCESS, id, 19))
	}
	if err != nil {
		panic(err)
	}
}

// attackIfLaunched attacks until standard input ends, if the program was started for that.
func attackIfLaunched() bool {
	what := os.Getenv(launchVar)
	if what == "" {
		return false
	}
	var l launched
	if err := json.Unmarshal([]byte(what), &l); err != nil {
		panic(err)
	}
	s := &site{
		rdma: l.RDMA, tcp: l.TCP, metrics: l.Metrics, sctp: l.SCTP, dialer: dialFrom, net: l.Net,
		outsider: l.Outsider, file: nfs3.MakeFH(l.File),
		limits: limits{l.Limits[0], l.Limits[1], l.Limits[2]},
	}
	if l.Attack == goodClients {
		s.workUntilEOF(l.Way)
		return true
	}
	lowestPriority()
	under := attacks[l.Attack].begin(context.Background(), s, l.Way, 1, l.Conns)
	time.Sleep(pace)
	fmt.Println()
	io.Copy(io.Discard, os.Stdin)
	under.end()
	if l.Outsider == "" && under.reached.Load() == 0 {
		panic("no connection has reached the server")
	}
	return true
}

// workUntilEOF lets two bystanders make long calls until standard input ends.
func (s *site) workUntilEOF(w way) {
	ctx := context.Background()
	all, err := s.join(ctx, early, w)
	if err != nil {
		panic(err)
	}
	fmt.Println()
	var ended atomic.Bool
	var group sync.WaitGroup
	for _, b := range all {
		b.data = make([]byte, fileSize)
		group.Go(func() {
			for !ended.Load() {
				if err := b.round(ctx); err != nil {
					panic(fmt.Errorf("%s, after %d rounds: %w", b.name, b.rounds, err))
				}
			}
		})
	}
	io.Copy(io.Discard, os.Stdin)
	ended.Store(true)
	group.Wait()
	leave(all)
}
