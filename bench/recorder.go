package bench

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are recorded from a nanosecond to two minutes, with three exact digits. Longer ones are
// recorded as two minutes.
const (
	longest = 2 * time.Minute
	digits  = 3
)

// recorder collects latencies.
type recorder struct {
	mu sync.Mutex // guards h
	h  *hdrhistogram.Histogram
}

func newRecorder() *recorder {
	return &recorder{h: hdrhistogram.New(1, int64(longest), digits)}
}

// record adds a latency.
func (r *recorder) record(d time.Duration) {
	// It fails only for values out of range.
	_ = r.h.RecordValue(int64(min(max(d, 1), longest)))
}

// samples buffers the latencies of one worker before it adds them to the recorder.
type samples struct {
	to *recorder
	n  int
	of [128]time.Duration
}

// add adds a latency. It does not allocate.
func (s *samples) add(d time.Duration) {
	s.of[s.n] = d
	if s.n++; s.n == len(s.of) {
		s.flush()
	}
}

// flush moves the buffered latencies to the recorder.
func (s *samples) flush() {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	for _, d := range s.of[:s.n] {
		s.to.record(d)
	}
	s.n = 0
}

// latency returns the percentiles of all recorded latencies.
func (r *recorder) latency() Latency {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := func(percentile float64) time.Duration { return time.Duration(r.h.ValueAtPercentile(percentile)) }
	return Latency{P50: at(50), P99: at(99), P999: at(99.9), Max: time.Duration(r.h.Max())}
}

// count returns how many latencies were recorded.
func (r *recorder) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.TotalCount()
}
