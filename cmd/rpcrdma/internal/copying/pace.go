package copying

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// burst is the part of a second's bytes that may pass at once: 1/burst.
const burst = 20

// pace limits the bytes per second of all files together. A nil pace has no limit.
type pace struct{ *rate.Limiter }

// newPace returns a pace of so many bytes per second, or nil without a limit.
func newPace(limit cli.Size) *pace {
	if limit == 0 {
		return nil
	}
	return &pace{rate.NewLimiter(rate.Limit(limit), int(max(limit/burst, 1)))}
}

// waitFor waits until so many bytes of content may be transferred.
func (p *pace) waitFor(ctx context.Context, bytes int) error {
	for bytes > 0 && p != nil {
		n := min(bytes, p.Burst())
		if err := p.WaitN(ctx, n); err != nil {
			return err
		}
		bytes -= n
	}
	return nil
}
