//go:build !linux

package main

import (
	"context"
	"errors"
)

// scratch is where servers of others have their files.
const scratch = ""

// isolate returns false: there is nothing to isolate with.
func isolate(context.Context) (done bool, code int) { return false, 0 }

// isolated says that this process is not isolated.
func isolated() error { return errors.New("it runs on Linux only") }

// prepare has nothing to prepare.
func prepare(string) (func() error, error) { return func() error { return nil }, nil }
