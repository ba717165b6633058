package copying

import (
	"context"
	"time"
)

// lastTime bounds, after an interrupt, calls whose result must be known, and cleaning up.
const lastTime = 3 * time.Second

// lasting returns a context that outlives ctx by lastTime, until done is called. A call that is
// given up may still be executed, and cleaning up would then come too early. After done, the
// context ends with ctx.
func lasting(ctx context.Context) (last context.Context, done func()) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		// A command does not wait for the timer.
		time.AfterFunc(lastTime, cancel)
	})
	return last, func() {
		stop()
		context.AfterFunc(ctx, cancel)
	}
}

// afterwards returns a context for cleaning up, even if ctx has ended.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lastTime)
}
