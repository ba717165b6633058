package copying

import (
	"context"
	"time"
)

// lastTime is how long what must be known to have happened or not, and what cleans up, may go on
// when a command is interrupted.
const lastTime = 3 * time.Second

// lasting returns a context that, until done is called, goes on for a while when ctx has ended: a
// call that is given up may still be carried out, which is the wrong moment to clean up after it.
// After done it ends with ctx, which is to end when the file is done with.
func lasting(ctx context.Context) (last context.Context, done func()) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		// The timer holds nothing that a command waits for.
		time.AfterFunc(lastTime, cancel)
	})
	return last, func() {
		stop()
		context.AfterFunc(ctx, cancel)
	}
}

// afterwards returns a context to clean up with, whether ctx has ended or not.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lastTime)
}
