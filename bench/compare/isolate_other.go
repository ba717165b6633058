//go:build !linux

package main

import (
	"context"
	"errors"
)

// scratch is empty, which means the default directory.
const scratch = ""

// isolate returns false on this system.
func isolate(context.Context) (done bool, code int) { return false, 0 }

// isolated returns an error: this process is not isolated.
func isolated() error { return errors.New("it runs on Linux only") }

// prepare does nothing on this system.
func prepare(string) (func() error, error) { return func() error { return nil }, nil }
