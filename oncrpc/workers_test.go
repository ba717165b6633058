package oncrpc

import (
	"testing"
	"testing/synctest"
)

// A handler waits for its peer and returns to a free place, or to that of an idle worker. It counts
// for its host again. When all calls have ended, the host is forgotten.
func TestHandlersCounted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		others int // calls while the first waits
	}{{"free place", 0}, {"place of an idle worker", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, answer := new(Call), make(chan struct{})
				w := &workers{max: 1}
				w.run = func(c *Call) {
					if c == first {
						w.leave(c.place)
						<-answer
						w.enter(c.place)
					}
				}
				w.do(first)
				synctest.Wait()
				for range tt.others {
					w.do(new(Call))
					synctest.Wait()
				}
				close(answer)
				synctest.Wait()
				if sh := w.shares[0]; len(sh.hosts) != 0 || w.n != 1 || w.used != 0 || len(w.idle) != 1 {
					t.Errorf("%d hosts known, %d places in use, %d by handlers, %d workers idle, want 0, 1, 0, 1",
						len(sh.hosts), w.n, w.used, len(w.idle))
				}
				w.stop()
			})
		})
	}
}
