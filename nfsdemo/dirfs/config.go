package dirfs

import "log/slog"

// Config configures a file system.
type Config struct {
	// Path is the directory to serve.
	Path string
	// State is a directory for the state of this file system alone, outside of Path. New makes it
	// if needed. It keeps handles valid across restarts. Whoever can read it can make handles. If
	// it is "", handles are valid until Close.
	State string
	// ByName finds files by their names even if kernel handles work.
	ByName bool
	// Logger logs what an administrator should see; nil means that nothing is logged.
	Logger *slog.Logger
}
