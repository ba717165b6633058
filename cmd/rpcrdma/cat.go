package main

import "github.com/spf13/cobra"

func newCatCommand() *cobra.Command {
	var r remotes
	cmd := &cobra.Command{
		Use:   "cat URL...",
		Short: "Print files",
		Long: `Cat prints files, one behind the other. Several READs are under way at a time; where a file
is to be kept, get is the command.`,
		Example: `  rpcrdma cat rdma://host/export/file
  rpcrdma cat rdma://host/export/backup.tar | tar -t`,
		Args: someURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			out := interruptible{cmd.Context(), cmd.OutOrStdout()}
			return onURLs(cmd, &r, urls, func(w *work, p operand) error {
				name := p.name
				if p.dir {
					name += "/"
				}
				f, err := p.fs.Open(w.ctx(), name)
				if err != nil {
					return err
				}
				defer f.Close()
				_, err = f.WriteTo(out)
				return err
			})
		},
	}
	r.addFlags(cmd)
	return cmd
}
