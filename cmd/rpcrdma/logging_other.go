//go:build !unix

package main

import "log/slog"

const levelHint = ""

// watch does nothing: there is no signal for it.
func (l *logging) watch(*slog.Logger) (end func()) { return func() {} }
