package control

import (
	"runtime"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Usage is what a process has used since it began, or between two moments.
type Usage struct {
	CPU    time.Duration // user and system; 0 where the system does not tell
	Allocs uint64        // objects allocated on the heap
	Bytes  uint64        // allocated on the heap
	GCs    uint32        // garbage collections
	Heap   uint64        // bytes of the heap in use now
	Stacks uint64        // bytes of goroutine stacks now
	Conns  int           // RPC connections open now, besides the one that asks
	// Busy is the CPU time of all processes on the CPUs that this one may use, with what the host of
	// a virtual machine withheld; 0 where the system does not tell. The kernel counts it in ticks.
	Busy time.Duration
}

// MarshalXDR encodes u.
func (u *Usage) MarshalXDR(e *xdr.Encoder) {
	e.Uint64(uint64(u.CPU))
	e.Uint64(u.Allocs)
	e.Uint64(u.Bytes)
	e.Uint32(u.GCs)
	e.Uint64(u.Heap)
	e.Uint64(u.Stacks)
	e.Uint32(uint32(u.Conns))
	e.Uint64(uint64(u.Busy))
}

// UnmarshalXDR decodes u.
func (u *Usage) UnmarshalXDR(d *xdr.Decoder) {
	u.CPU = time.Duration(d.Uint64())
	u.Allocs = d.Uint64()
	u.Bytes = d.Uint64()
	u.GCs = d.Uint32()
	u.Heap = d.Uint64()
	u.Stacks = d.Uint64()
	u.Conns = int(d.Uint32())
	u.Busy = time.Duration(d.Uint64())
}

// Since returns what was used from before until u; what is so now stays.
func (u Usage) Since(before Usage) Usage {
	u.CPU -= before.CPU
	u.Allocs -= before.Allocs
	u.Bytes -= before.Bytes
	u.GCs -= before.GCs
	u.Busy -= before.Busy
	return u
}

// Meter reads what this process has used. Where the system tells what all have used, that is read
// from a file, which takes a few allocations.
type Meter struct {
	mu    sync.Mutex // guards stats
	stats runtime.MemStats
}

// Used returns what the process has used so far. It stops it for a moment.
func (m *Meter) Used() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	cpus, _ := host.AllowedCPUs() // none is all
	busy := host.BusyTime(cpus...)
	runtime.ReadMemStats(&m.stats)
	return Usage{
		CPU:    host.CPUTime(),
		Allocs: m.stats.Mallocs,
		Bytes:  m.stats.TotalAlloc,
		GCs:    m.stats.NumGC,
		Heap:   m.stats.HeapInuse,
		Stacks: m.stats.StackInuse,
		Busy:   busy.Tasks + busy.Stolen,
	}
}
