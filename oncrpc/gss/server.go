package gss

import "log/slog"

// ServerConfig configures a ServerFlavor.
type ServerConfig struct {
	// Acceptor makes the contexts.
	Acceptor Acceptor
	// Logger takes what goes wrong; nil means slog.Default().
	Logger *slog.Logger
	// MaxContexts is the number of contexts that are kept, of all hosts together; 0 means 4096.
	MaxContexts int
}

// Caller is who has called with RPCSEC_GSS: an oncrpc.Identity.
type Caller struct {
	Principal string  // such as "alice@EXAMPLE.ORG"
	Service   Service // what this call was protected by
}

// AppendKey appends the principal.
func (c *Caller) AppendKey(b []byte) []byte { return append(b, c.Principal...) }

// String returns the principal.
func (c *Caller) String() string { return c.Principal }
