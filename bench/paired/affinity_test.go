package paired

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// allowedList returns the CPUs that this process may use, as Linux reports them. It is empty on
// other systems.
func allowedList() string {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if list, ok := strings.CutPrefix(lines.Text(), "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	return ""
}

func TestPinning(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	cpus, err := host.AllowedCPUs()
	if runtime.GOOS != "linux" {
		o := quick()
		o.CPUs = []int{0, 1}
		if _, failed := Compare(t.Context(), o, "fake/plain", "fake/plain"); err == nil || failed == nil {
			t.Errorf("got errors %v and %v, want pinning to be refused", err, failed)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	before := allowedList()
	o := quick()
	o.CPUs = []int{cpus[len(cpus)-1], cpus[0]} // the same one if there is only one
	p, err := startPair(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()

	r, err := p.do(p.server, command{Verb: verbOpen, Scenario: "fake/process"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Addr, fmt.Sprintf("GOMAXPROCS=1 Cpus_allowed_list=%d", o.CPUs[0]); got != want {
		t.Errorf("got a server with %s, want %s", got, want)
	}
	if _, err = p.do(p.client, command{Verb: verbOpen, Scenario: "fake/process"}); err != nil {
		t.Fatal(err)
	}
	_, err = p.do(p.client, command{Verb: verbRun, Operations: 1})
	if want := fmt.Sprintf("GOMAXPROCS=1 Cpus_allowed_list=%d", o.CPUs[1]); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got a client with %v, want %s", err, want)
	}
	after, err := host.AllowedCPUs()
	if err != nil || !slices.Equal(after, cpus) || allowedList() != before {
		t.Errorf("the coordinator itself may use %v (%v, %s), want %v (%s)", after, err, allowedList(), cpus, before)
	}
}

func TestPinningToNothing(t *testing.T) {
	o := quick()
	o.CPUs = []int{1000, 1000}
	_, err := Compare(t.Context(), o, "fake/plain", "fake/plain")
	if err == nil || !strings.Contains(err.Error(), "server process: ") {
		t.Errorf("got error %v, want the server process to fail", err)
	}
}
