package host

import (
	"runtime"
	"sync"
	"time"
)

// Usage is what a process has used since it began, or between two moments.
type Usage struct {
	CPU    time.Duration `json:"cpu_ns"` // user and system; 0 if the system does not report it
	Allocs uint64        `json:"allocs"` // objects allocated on the heap
	Bytes  uint64        `json:"bytes"`  // allocated on the heap
	GCs    uint32        `json:"gcs"`    // garbage collections
	Heap   uint64        `json:"heap"`   // bytes of the heap in use at the end
	Stacks uint64        `json:"stacks"` // bytes of goroutine stacks at the end
	Conns  int           `json:"conns"`  // connections open at the end; set by the caller
	// Busy is the CPU time of all processes on the CPUs that this one may use, with the time that
	// the host of a virtual machine withheld. It is 0 if the system does not report it. The kernel
	// counts it in ticks.
	Busy time.Duration `json:"-"`
}

// Since returns what was used from before until u. Heap, Stacks and Conns are those of u.
func (u Usage) Since(before Usage) Usage {
	u.CPU -= before.CPU
	u.Allocs -= before.Allocs
	u.Bytes -= before.Bytes
	u.GCs -= before.GCs
	u.Busy -= before.Busy
	return u
}

// Plus returns the sum of u and other. Heap, Stacks and Conns are those of other.
func (u Usage) Plus(other Usage) Usage {
	other.CPU += u.CPU
	other.Allocs += u.Allocs
	other.Bytes += u.Bytes
	other.GCs += u.GCs
	other.Busy += u.Busy
	return other
}

// Meter reads what this process has used.
type Meter struct {
	mu    sync.Mutex // guards stats
	stats runtime.MemStats
}

// Used returns what this process has used so far, without Conns and Busy. It stops all goroutines
// for a moment, and does not allocate.
func (m *Meter) Used() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	runtime.ReadMemStats(&m.stats)
	return Usage{
		CPU:    CPUTime(),
		Allocs: m.stats.Mallocs,
		Bytes:  m.stats.TotalAlloc,
		GCs:    m.stats.NumGC,
		Heap:   m.stats.HeapInuse,
		Stacks: m.stats.StackInuse,
	}
}

// UsedBusy is Used with Busy, which it reads from a file. That takes a few allocations.
func (m *Meter) UsedBusy() Usage {
	cpus, _ := AllowedCPUs() // nil means all
	busy := BusyTime(cpus...)
	u := m.Used()
	u.Busy = busy.Tasks + busy.Stolen
	return u
}
