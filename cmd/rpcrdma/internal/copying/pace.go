package copying

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// burst is which part of a second's bytes may pass at once.
const burst = 20

// newPace returns what lets so many bytes a second pass, nil without a limit.
func newPace(limit cli.Size) *rate.Limiter {
	if limit == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(limit), int(max(limit/burst, 1)))
}

// waitFor waits until bytes of content may be transferred.
func (c *copier) waitFor(ctx context.Context, bytes int) error {
	for bytes > 0 && c.pace != nil {
		n := min(bytes, c.pace.Burst())
		if err := c.pace.WaitN(ctx, n); err != nil {
			return err
		}
		bytes -= n
	}
	return nil
}
