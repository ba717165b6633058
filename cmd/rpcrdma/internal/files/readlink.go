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
		Long: `Readlink prints the targets of symbolic links, one per line. A target is a path on the server,
absolute or relative to the directory of the link.`,
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
