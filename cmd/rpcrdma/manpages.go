package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/manpage"
)

// newManPagesCommand writes the man pages of all commands. It is hidden, because packages include
// the pages.
func newManPagesCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "manpages DIR",
		Short:  "Write the man pages to a directory",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one directory to write the pages to")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManPages(cmd.Root(), args[0])
		},
	}
}

// writeManPages writes the page of a command, and of those below it.
func writeManPages(cmd *cobra.Command, dir string) (err error) {
	f, err := os.Create(filepath.Join(dir, manpage.Name(cmd)+".1"))
	if err != nil {
		return err
	}
	err = manpage.Write(f, cmd, moduleVersion())
	if failed := f.Close(); err == nil {
		err = failed
	}
	for _, c := range manpage.Below(cmd) {
		if err == nil {
			err = writeManPages(c, dir)
		}
	}
	return err
}
