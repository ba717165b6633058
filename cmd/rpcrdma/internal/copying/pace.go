package copying

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// burst is which part of a second's bytes may pass at once.
const burst = 20

// pace bounds how much passes in a second, of all files together. Nil bounds nothing.
type pace struct{ *rate.Limiter }

// newPace returns what lets so many bytes a second pass, nil without a limit.
func newPace(limit cli.Size) *pace {
	if limit == 0 {
		return nil
	}
	return &pace{rate.NewLimiter(rate.Limit(limit), int(max(limit/burst, 1)))}
}

// waitFor waits until bytes of content may be transferred.
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
