//go:build !linux

package dirfs

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// FS is a directory of the host; it implements vfs.FS. There is none on this system.
type FS struct{ vfs.FS }

// New fails with an error that wraps errors.ErrUnsupported.
func New(cfg Config) (*FS, error) {
	err := errors.ErrUnsupported
	return nil, fmt.Errorf("dirfs: export of %s on %s: %w", cfg.Path, runtime.GOOS, err)
}

// NewKey fails with errors.ErrUnsupported.
func NewKey(string) error { return errors.ErrUnsupported }

// RevokeKeys fails with errors.ErrUnsupported.
func RevokeKeys(string) error { return errors.ErrUnsupported }

// Close does nothing.
func (fs *FS) Close() error { return nil }
