package files

import (
	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// NewRmdir returns the command rmdir.
func NewRmdir() *cobra.Command {
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "rmdir URL...",
		Short: "Remove empty directories",
		Long: `Rmdir removes empty directories, and nothing else. It does not remove the root of an export, nor
what a URL that ends with . or .. names.`,
		Example: `  rpcrdma rmdir rdma://host/export/dir`,
		Args:    cli.SomeURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			return remote.OnFiles(cmd, &r, urls, rmdir)
		},
	}
	r.AddFlags(cmd)
	return cmd
}

// rmdir removes a directory.
func rmdir(w *remote.Work, p remote.Operand) error {
	if reach.EndsInDots(p.URL) {
		return errDots
	}
	dir, base, err := p.Parent(w.Ctx())
	if err != nil {
		return err
	}
	err = p.Client.Rmdir(w.Ctx(), dir, base)
	if words.DoneBefore(err, nfs3.ErrNoEnt) {
		return nil
	}
	return err
}
