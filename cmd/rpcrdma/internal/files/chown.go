package files

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// NewChown returns the command chown.
func NewChown() *cobra.Command {
	var recursive, links bool
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "chown USER[:GROUP] URL...",
		Short: "Change the owners of files",
		Long: `Chown changes the user of files, and with a colon also the group; :GROUP changes the group
alone. USER and GROUP are numbers, or names of this host. The server gets the numbers, and may
have other names for them. Chown follows links, unless -h or -R is given. Servers let only root
change owners, and only if they do not squash root.`,
		Example: `  rpcrdma chown alice:staff rdma://host/export/file
  rpcrdma chown 1000:1000 rdma://host/export/file
  rpcrdma chown -R :100 rdma://host/export/tree`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageError{Err: errors.New("no owner: write USER, USER:GROUP or :GROUP")}
			}
			if _, err := parseOwner(args[0]); err != nil {
				return cli.UsageError{Err: err}
			}
			return cli.SomeURLs(cmd, args[1:])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := parseOwner(args[0])
			if err != nil {
				return cli.UsageError{Err: err}
			}
			return remote.OnFiles(cmd, &r, args[1:], func(w *remote.Work, p remote.Operand) error {
				i, err := p.Stat(w.Ctx(), !links && !recursive)
				if err != nil {
					return err
				}
				k := remote.Walk{Work: w, Client: p.Client, Visit: func(e remote.Entry, before bool) error {
					if before {
						return nil
					}
					_, err := p.Client.SetAttr(w.Ctx(), e.File, set, nil)
					return err
				}}
				e := remote.Entry{File: i.Handle(), Attr: *i.Attr()}
				if recursive {
					return k.From(p.URL, e, 0)
				}
				return k.Visit(e, false)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&recursive, "recursive", "R", false, "change directories with all that is in them")
	f.BoolVarP(&links, "no-dereference", "h", false, "change links themselves, not what they lead to")
	r.AddFlags(cmd)
	f.Bool("help", false, "help for chown") // -h has another meaning
	return cmd
}

// parseOwner parses USER, USER:GROUP or :GROUP.
func parseOwner(s string) (set nfs3.Sattr, err error) {
	user, group, colon := strings.Cut(s, ":")
	if user == "" && group == "" || colon && group == "" {
		return set, fmt.Errorf("%s: write USER, USER:GROUP or :GROUP", cli.Printable(s))
	}
	if user != "" {
		var id cli.UserFlag
		if err := id.Set(user); err != nil {
			return set, fmt.Errorf("user %s: %w", cli.Printable(user), err)
		}
		set.UID = nfs3.Set32{Set: true, To: uint32(id)}
	}
	if group != "" {
		var id cli.GroupFlag
		if err := id.Set(group); err != nil {
			return set, fmt.Errorf("group %s: %w", cli.Printable(group), err)
		}
		set.GID = nfs3.Set32{Set: true, To: uint32(id)}
	}
	return set, nil
}
