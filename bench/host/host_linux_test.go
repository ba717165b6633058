package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// threads returns the CPUs that each thread of this process may use, as Linux reports them.
func threads(t *testing.T) (lists []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d threads, error %v", len(names), err)
	}
	for _, name := range names {
		status, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(status)) {
			if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
				lists = append(lists, strings.TrimSpace(list))
			}
		}
	}
	slices.Sort(lists)
	return slices.Compact(lists)
}

// TestPin: all threads of this process, including new ones, are on one CPU until it is undone.
func TestPin(t *testing.T) {
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	before, procs := threads(t), runtime.GOMAXPROCS(0)
	last := cpus[len(cpus)-1:]
	undo, err := Pin(last...)
	if err != nil {
		t.Fatal(err)
	}
	if got := runtime.GOMAXPROCS(0); got != 1 {
		t.Errorf("got GOMAXPROCS %d, want 1", got)
	}
	var wg sync.WaitGroup // of new threads
	for range 4 {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if got, err := AllowedCPUs(); err != nil || !slices.Equal(got, last) {
				t.Errorf("a new thread: got CPUs %v, error %v, want %v", got, err, last)
			}
		})
	}
	wg.Wait()
	if got := threads(t); !slices.Equal(got, []string{FormatCPUs(last)}) {
		t.Errorf("got CPUs %v, want %v of all threads", got, last)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if got := threads(t); !slices.Equal(got, before) || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("afterwards: got CPUs %v and GOMAXPROCS %d, want %v and %d", got, runtime.GOMAXPROCS(0), before, procs)
	}
}

// TestPinNowhere: CPUs that do not exist change nothing.
func TestPinNowhere(t *testing.T) {
	before, procs := threads(t), runtime.GOMAXPROCS(0)
	if _, err := Pin(1000); err == nil || !strings.Contains(err.Error(), "pinning to CPU 1000") {
		t.Errorf("Pin: got error %v", err)
	}
	if err := startPinned(exec.Command("/bin/true"), 1000); err == nil || !strings.Contains(err.Error(), "pinning to CPU 1000") {
		t.Errorf("startPinned: got error %v", err)
	}
	if got := threads(t); !slices.Equal(got, before) || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("afterwards: got CPUs %v, want %v", got, before)
	}
}

// TestStartPinned: a child starts on the given CPUs.
func TestStartPinned(t *testing.T) {
	cpus, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.Command("/bin/grep", "Cpus_allowed_list", "/proc/self/status")
	cmd.Stdout = &out
	if err := startPinned(cmd, cpus...); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Fields(out.String()), threads(t); len(got) != 2 || got[1] != want[0] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCheck: a congestion control that exists, and one that does not.
func TestCheck(t *testing.T) {
	for _, name := range []string{"", "reno"} {
		if err := (Sockets{Congestion: name}).Check(); err != nil {
			t.Errorf("%q: got error %v", name, err)
		}
	}
	if err := (Sockets{Congestion: "nosuch"}).Check(); err == nil || !strings.Contains(err.Error(), "reno") {
		t.Errorf("nosuch: got error %v, want one that names those that are there", err)
	}
}
