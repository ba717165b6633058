package bench

import (
	"errors"
	"io"
	"os/exec"
	"testing"
)

func TestLostError(t *testing.T) {
	for _, tt := range []struct {
		lost LostError
		want string
	}{
		{LostError{"host:1", 4, io.EOF}, "bench: the server at host:1 was lost after 4 points: EOF"},
		{LostError{"host:1", 1, ErrSilent}, "bench: the server at host:1 stopped answering after 1 point"},
		{LostError{"", 0, io.EOF}, "bench: the server's process was lost before anything was measured: EOF"},
	} {
		if got := tt.lost.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestLostProcess: the error says that a process was killed, not only how its connection ended.
func TestLostProcess(t *testing.T) {
	t.Setenv(childVariable, "server")
	for _, tt := range []struct {
		name   string
		was    error
		exited bool // the error says that the process exited
	}{{"ended", io.EOF, true}, {"silent", ErrSilent, false}} {
		c, _, err := startChild(t.Context(), self(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		lost := &LostError{Err: tt.was}
		r := runner{child: c}
		if err := r.close(lost); err != nil {
			t.Errorf("%s: got error %v beside that the server was lost", tt.name, err)
		}
		if got := errors.As(lost, new(*exec.ExitError)); got != tt.exited {
			t.Errorf("%s: got %v", tt.name, lost)
		}
	}
}
