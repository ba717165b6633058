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
	// NewKey makes a new key for handles. Handles of the previous key stay valid until the next new
	// key. If somebody may know the key, make two new ones, one after the other.
	NewKey bool
	// ByName finds files by their names even if kernel handles work.
	ByName bool
	// Logger logs what an administrator should see; nil means that nothing is logged.
	Logger *slog.Logger
}
