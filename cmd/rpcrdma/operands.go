package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// someURLs is for commands that take one URL or more.
func someURLs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{errors.New("no URL: write rdma://HOST/EXPORT/PATH, or tcp://")}
	}
	return nil
}
