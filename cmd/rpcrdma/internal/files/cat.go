package files

import (
	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// NewCat returns the command cat.
func NewCat() *cobra.Command {
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "cat URL...",
		Short: "Print files",
		Long: `Cat prints files, one after the other. It has several READs under way at a time. To keep a file,
use get.`,
		Example: `  rpcrdma cat rdma://host/export/file
  rpcrdma cat rdma://host/export/backup.tar | tar -t`,
		Args: cli.SomeURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			out := cli.Interruptible{Ctx: cmd.Context(), W: cmd.OutOrStdout()}
			return remote.OnFiles(cmd, &r, urls, func(w *remote.Work, p remote.Operand) error {
				name := p.Name
				if p.Dir {
					name += "/"
				}
				f, err := p.FS.Open(w.Ctx(), name)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = f.WriteTo(out)
				return err
			})
		},
	}
	r.AddFlags(cmd)
	return cmd
}
