package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

var errNoLink = errors.New("not a symbolic link")

func newReadlinkCommand() *cobra.Command {
	var r remotes
	cmd := &cobra.Command{
		Use:   "readlink URL...",
		Short: "Print where symbolic links lead",
		Long: `Readlink prints what is in symbolic links, each in a line: a path on the server, relative to the
directory of the link, or absolute.`,
		Example: `  rpcrdma readlink rdma://host/export/link`,
		Args:    someURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			return onURLs(cmd, &r, urls, func(w *work, p operand) error {
				i, err := p.stat(w.ctx(), false)
				if err != nil {
					return err
				}
				if i.Attr().Type != nfs3.TypeLnk {
					return errNoLink
				}
				target, err := p.client.ReadLink(w.ctx(), i.Handle())
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), target)
				return err
			})
		},
	}
	r.addFlags(cmd)
	return cmd
}
