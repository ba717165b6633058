package files

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// NewChmod returns the command chmod.
func NewChmod() *cobra.Command {
	var recursive bool
	var minus string
	var change modeChange
	var r remote.Session
	urls := func(args []string) []string {
		if minus != "" {
			return args
		}
		return args[min(1, len(args)):]
	}
	cmd := &cobra.Command{
		Use:   "chmod MODE URL...",
		Short: "Change the modes of files",
		Long: `Chmod changes the modes of files. MODE is an octal number, or a list of changes, separated by
commas. A change, such as u+x or go=rX, is made of:

  u, g, o, a             for the user, the group, others, or all; several may be given
  +, -, =                to add, to remove, or to set
  r, w, x, X, s, t       permissions, or one of u, g and o to copy from

X means x for directories, and for files that somebody may already execute. A change that names
nobody is for all, less the umask of this process.

A directory keeps its set-user-ID and set-group-ID, unless MODE names them or is a number of
five digits. Chmod follows links, except those that -R comes across, which it leaves alone.`,
		Example: `  rpcrdma chmod 640 rdma://host/export/file
  rpcrdma chmod -R u=rwX,go=rX rdma://host/export/tree`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			mode := minus
			if mode == "" {
				if len(args) == 0 {
					return cli.UsageError{Err: errors.New("no mode: write one such as 644, u+x or go=rX")}
				}
				mode = args[0]
			}
			if change, err = parseModeChange(mode); err != nil {
				return cli.UsageError{Err: errors.New(cli.Printable(mode) + ": " + err.Error())}
			}
			return cli.SomeURLs(cmd, urls(args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return remote.OnFiles(cmd, &r, urls(args), func(w *remote.Work, p remote.Operand) error {
				return chmod(w, p, change, recursive)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&recursive, "recursive", "R", false, "change directories with all that is in them")
	// chmod -w URL: a mode that looks like a flag
	for _, letter := range []string{"r", "w", "x", "X", "s", "t"} {
		f.VarPF((*minusFlag)(&minus), "minus-"+letter, letter, "").NoOptDefVal = letter
		_ = f.MarkHidden("minus-" + letter) // it exists
	}
	r.AddFlags(cmd)
	return cmd
}

// minusFlag collects the letters of a mode such as -w, which looks like a flag.
type minusFlag string

// Set adds a letter.
func (m *minusFlag) Set(letter string) error {
	if *m == "" {
		*m = "-"
	}
	*m += minusFlag(letter)
	return nil
}

// String returns the mode.
func (m *minusFlag) String() string { return string(*m) }

// Type names the value in the usage.
func (m *minusFlag) Type() string { return "MODE" }

// chmod changes one mode, or those of a tree.
func chmod(w *remote.Work, p remote.Operand, change modeChange, recursive bool) error {
	i, err := p.Stat(w.Ctx(), true)
	if err != nil {
		return err
	}
	k := remote.Walk{Work: w, Client: p.Client, Visit: func(e remote.Entry, before bool) error {
		to := change.apply(e.Attr.Mode, e.IsDir(), uint32(remote.Umask))
		// Add rights before entering a directory, and remove them after leaving it.
		adds := to&^e.Attr.Mode != 0
		if e.Attr.Type == nfs3.TypeLnk || e.IsDir() && recursive && before != adds {
			return nil
		}
		_, err := p.Client.SetAttr(w.Ctx(), e.File, nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: to}}, nil)
		return err
	}}
	e := remote.Entry{File: i.Handle(), Attr: *i.Attr()}
	if recursive {
		return k.From(p.URL, e, 0)
	}
	return k.Visit(e, false)
}
