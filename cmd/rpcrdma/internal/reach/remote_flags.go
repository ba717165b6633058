package reach

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Set takes a size.
func (z *InlineFlag) Set(s string) error {
	var n cli.Size
	if err := n.Set(s); err != nil {
		return err
	}
	if n < rpcrdma.DefaultInline || n > rpcrdma.MaxInline || n%1024 != 0 {
		return errors.New("write a multiple of 1KiB up to 64KiB")
	}
	*z = InlineFlag(n)
	return nil
}

// String returns the size.
func (z *InlineFlag) String() string { return (*cli.Size)(z).String() }

// Type names the value in the usage.
func (z *InlineFlag) Type() string { return "SIZE" }
