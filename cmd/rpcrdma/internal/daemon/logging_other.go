//go:build !unix

package daemon

import (
	"log/slog"
)

const levelHint = ""

// watch does nothing: there is no signal for it.
func (l *Logging) watch(*slog.Logger) (end func()) { return func() {} }
