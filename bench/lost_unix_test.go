//go:build unix

package bench

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

// TestRunServerSilent: a server that exists but does nothing any more ends a run.
func TestRunServerSilent(t *testing.T) {
	o := options(t, points2()...)
	c, addr, err := startChild(t.Context(), o.Command, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop(0)
	o.Server, o.Command, o.patience = addr, nil, 5*time.Second
	o.Progress = func(p Progress) {
		if p.Done == 2 {
			if err := c.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
		}
	}
	r, err := Run(t.Context(), o)
	var lost *LostError
	if r == nil || !errors.As(err, &lost) || lost.Points != 2 || lost.Server != addr || !errors.Is(err, ErrSilent) {
		t.Fatalf("got result %v, error %v, want what was measured and that the server has stopped answering after 2 points", r, err)
	}
	if len(r.Measured) != 2 || len(r.LeftOut) != 1 || len(r.LeftOut[0].Points) != 2 {
		t.Errorf("got %d points, left out %v", len(r.Measured), r.LeftOut)
	}
}
