package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// MkdirFlags are the flags of mkdir.
type MkdirFlags struct {
	Parents bool
	mode    string // "": what the umask leaves
	change  modeChange
}

// NewMkdir returns the command mkdir.
func NewMkdir() *cobra.Command {
	var flags MkdirFlags
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "mkdir URL...",
		Short: "Make directories",
		Long: `Mkdir makes directories, with mode 777 less the umask of this process. With -p it also makes
missing directories above them, and accepts a directory that exists.`,
		Example: `  rpcrdma mkdir rdma://host/export/dir
  rpcrdma mkdir -p -m 2775 rdma://host/export/projects/a/b`,
		Args: cli.SomeURLs,
		RunE: func(cmd *cobra.Command, urls []string) (err error) {
			if cmd.Flags().Changed("mode") {
				if flags.change, err = parseModeChange(flags.mode); err != nil {
					return cli.UsageError{Err: fmt.Errorf("--mode %s: %w", cli.Printable(flags.mode), err)}
				}
			}
			return remote.OnURLs(cmd, &r, urls, func(w *remote.Work, p remote.Operand) error {
				return flags.Make(w.Ctx(), p)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.Parents, "parents", "p", false, "make missing directories above, too; accept existing ones")
	f.StringVarP(&flags.mode, "mode", "m", "",
		"`MODE` of the directories, as for chmod: a number, or changes to 777; default 777 less the umask")
	r.AddFlags(cmd)
	return cmd
}

// Make makes a directory.
func (f *MkdirFlags) Make(ctx context.Context, p remote.Operand) error {
	perm := fs.ModePerm &^ remote.Umask
	exists := func(err error) bool {
		if err == nil || !f.Parents {
			// For a directory that exists, a server may return any error, such as that of a
			// read-only file system.
			return false
		}
		i, err := p.Stat(ctx, true)
		return err == nil && i.IsDir()
	}
	if i := strings.LastIndexByte(p.Name, '/'); f.Parents && i > 0 {
		// with rights to make the next directory in it
		if err := p.FS.MkdirAll(ctx, p.Name[:i], perm|0o300); err != nil {
			return err
		}
	}
	dir, base, err := p.Parent(ctx)
	if err != nil {
		if exists(err) {
			return nil
		}
		if errors.Is(err, remote.ErrRoot) {
			return nfs3.ErrExist
		}
		return err
	}
	mode := uint32(perm)
	if f.change != nil {
		mode = f.change.apply(0o777, true, uint32(remote.Umask))
	}
	made, err := p.Client.Mkdir(ctx, dir, base, nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: mode & 0o777}})
	if exists(err) {
		return nil
	}
	if err == nil && mode&^0o777 != 0 { // MKDIR does not set these bits
		_, err = p.Client.SetAttr(ctx, made.File, nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: mode}}, nil)
	}
	return err
}
