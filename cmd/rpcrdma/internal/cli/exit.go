package cli

import (
	"errors"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1 // something failed
	ExitUsage  = 2 // the command line is wrong

	ExitInterrupted = 128 + 2 // by SIGINT, as in shells
)

// ErrReported ends a command that has already printed its errors.
var ErrReported = errors.New("not everything was done")
