package host

import "sync"

// tailBytes is how many bytes a Tail keeps.
const tailBytes = 16 << 10

// Tail is a writer that keeps the end of what was written.
type Tail struct {
	mu  sync.Mutex // guards buf
	buf []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	return len(p), nil
}

// String returns the end of what was written, at most 16 KiB.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
