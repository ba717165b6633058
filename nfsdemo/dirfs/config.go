package dirfs

import "log/slog"

// Config configures a file system.
type Config struct {
	// Path is the directory.
	Path string
	// State is a directory for this file system alone, outside of Path, which is made if need be.
	// In it lies what makes handles survive a restart: whoever can read it can make handles. With
	// "" handles are good until Close.
	State string
	// NewKey has handles be made with a new key. Those of the key before stay good until there is
	// another new one: have two, one after the other, if somebody may know the key.
	NewKey bool
	// ByName has files be found by their names, also where the kernel's handles could be used.
	ByName bool
	// Logger gets what the operator should see; nil means nothing is logged.
	Logger *slog.Logger
}
