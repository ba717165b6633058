package cli

import (
	"errors"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1 // what was asked for did not work
	ExitUsage  = 2 // it is not clear what was asked for

	ExitInterrupted = 128 + 2 // by SIGINT, as shells say it
)

// ErrReported ends a command that has said already what did not work.
var ErrReported = errors.New("not everything was done")
