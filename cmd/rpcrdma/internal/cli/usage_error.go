package cli

import (
	"fmt"
)

// Usagef returns a usage error.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// UsageError is a command line that cannot be carried out.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }
