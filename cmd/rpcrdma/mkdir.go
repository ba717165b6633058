package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// mkdirFlags are how directories are made.
type mkdirFlags struct {
	parents bool
	mode    string // "": what the umask leaves
	change  modeChange
}

func newMkdirCommand() *cobra.Command {
	var flags mkdirFlags
	var r remotes
	cmd := &cobra.Command{
		Use:   "mkdir URL...",
		Short: "Make directories",
		Long: `Mkdir makes directories, with mode 777 less the umask of this process. With -p those above are
made, too, where they are missing, and one that exists is fine.`,
		Example: `  rpcrdma mkdir rdma://host/export/dir
  rpcrdma mkdir -p -m 2775 rdma://host/export/projects/a/b`,
		Args: someURLs,
		RunE: func(cmd *cobra.Command, urls []string) (err error) {
			if cmd.Flags().Changed("mode") {
				if flags.change, err = parseModeChange(flags.mode); err != nil {
					return usageError{fmt.Errorf("--mode %s: %w", printable(flags.mode), err)}
				}
			}
			return onURLs(cmd, &r, urls, func(w *work, p operand) error { return flags.make(w.ctx(), p) })
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.parents, "parents", "p", false, "make missing directories above; existing ones are fine")
	f.StringVarP(&flags.mode, "mode", "m", "", "`MODE` of the directories, as chmod takes it: 750, or relative to 777")
	r.addFlags(cmd)
	return cmd
}

func (f *mkdirFlags) make(ctx context.Context, p operand) error {
	perm := fs.ModePerm &^ umask
	exists := func(err error) bool {
		if err == nil || !f.parents {
			return false // one that exists may be refused with any error: what is read-only, for instance
		}
		i, err := p.stat(ctx, true)
		return err == nil && i.IsDir()
	}
	if i := strings.LastIndexByte(p.name, '/'); f.parents && i > 0 {
		if err := p.fs.MkdirAll(ctx, p.name[:i], perm|0o300); err != nil { // so that what follows can be made in it
			return err
		}
	}
	dir, base, err := p.parent(ctx)
	if err != nil {
		if exists(err) {
			return nil
		}
		if errors.Is(err, errRoot) {
			return nfs3.ErrExist
		}
		return err
	}
	mode := uint32(perm)
	if f.change != nil {
		mode = f.change.apply(0o777, true, uint32(umask))
	}
	made, err := p.client.Mkdir(ctx, dir, base, nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: mode & 0o777}})
	if exists(err) {
		return nil
	}
	if err == nil && mode&^0o777 != 0 { // servers leave that out of what MKDIR sets
		_, err = p.client.SetAttr(ctx, made.File, nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: mode}}, nil)
	}
	return err
}
