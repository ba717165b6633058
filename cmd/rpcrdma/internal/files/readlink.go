package files

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

var errNoLink = errors.New("not a symbolic link")

// NewReadlink returns the command readlink.
func NewReadlink() *cobra.Command {
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "readlink URL...",
		Short: "Print where symbolic links lead",
		Long: `Readlink prints what is in symbolic links, each in a line: a path on the server, relative to the
directory of the link, or absolute.`,
		Example: `  rpcrdma readlink rdma://host/export/link`,
		Args:    cli.SomeURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			return remote.OnFiles(cmd, &r, urls, func(w *remote.Work, p remote.Operand) error {
				i, err := p.Stat(w.Ctx(), false)
				if err != nil {
					return err
				}
				if i.Attr().Type != nfs3.TypeLnk {
					return errNoLink
				}
				target, err := p.Client.ReadLink(w.Ctx(), i.Handle())
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), target)
				return err
			})
		},
	}
	r.AddFlags(cmd)
	return cmd
}
