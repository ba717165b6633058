package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// SomeURLs is for commands that take one URL or more.
func SomeURLs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return UsageError{errors.New("no URL: write rdma://HOST/EXPORT/PATH, or tcp://")}
	}
	return nil
}
