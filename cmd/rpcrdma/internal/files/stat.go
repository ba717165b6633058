package files

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// NewStat returns the command stat.
func NewStat() *cobra.Command {
	var r remote.Session
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "stat URL...",
		Short: "Print all attributes of files",
		Long: `Stat prints all attributes that NFS version 3 has for files. Sizes are in bytes: of the data, and
of the space it takes on the server. The numbers of user and group are followed by the names
that they have on this host. Device is the number of the file system on the server. For a link,
stat prints the attributes of the link itself.`,
		Example: `  rpcrdma stat rdma://host/export/file`,
		Args:    cli.SomeURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			return remote.OnFiles(cmd, &r, urls, func(w *remote.Work, p remote.Operand) error {
				i, err := p.Stat(w.Ctx(), follow)
				if err != nil {
					return err
				}
				return printStat(w, p, i, asJSON)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "dereference", "L", false, "print what a link leads to, not the link")
	cli.AddJSONFlag(cmd.Flags(), &asJSON, "an object for each file")
	r.AddFlags(cmd)
	return cmd
}

// withName adds to a number its name on this host, if it has one.
func withName(id uint32, name string) string {
	number := decimal(id)
	if name == number {
		return number
	}
	return number + " (" + name + ")"
}

// printStat prints attributes, one per line.
func printStat(w *remote.Work, p remote.Operand, i *nfsfs.Info, asJSON bool) error {
	shown := func(name string) string {
		if cli.OnTerminal(w.Cmd) {
			return cli.Printable(name)
		}
		return name
	}
	a := i.Attr()
	var names cli.Names
	if asJSON {
		j := jsonOf(p.URL, lastName(p.URL), a, &names)
		if a.Type == nfs3.TypeLnk {
			target, err := p.Client.ReadLink(w.Ctx(), i.Handle())
			if err != nil {
				return err
			}
			j.Target = &target
		}
		return cli.WriteJSON(w.Cmd.OutOrStdout(), j)
	}
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%8s: %s\n", name, fmt.Sprintf(format, args...))
	}
	row("File", "%s", shown(p.URL))
	if a.Type == nfs3.TypeLnk {
		target, err := p.Client.ReadLink(w.Ctx(), i.Handle())
		if err != nil {
			return err
		}
		row("Link to", "%s", shown(target))
	}
	row("Type", "%s", typeNames[a.Type])
	if isDevice(a) {
		row("Number", "%d, %d", a.Rdev.Major, a.Rdev.Minor)
	}
	row("Size", "%d", a.Size)
	row("Used", "%d", a.Used)
	row("Mode", "%04o (%s)", a.Mode&modeAll, modeText(a.Type, a.Mode))
	row("Links", "%d", a.Nlink)
	row("User", "%s", withName(a.UID, names.User(a.UID)))
	row("Group", "%s", withName(a.GID, names.Group(a.GID)))
	row("Device", "%d", a.FSID)
	row("Inode", "%d", a.FileID)
	for _, t := range []struct {
		name string
		at   nfs3.Time
	}{{"Accessed", a.Atime}, {"Modified", a.Mtime}, {"Changed", a.Ctime}} {
		row(t.name, "%s", t.at.Time().Format("2006-01-02 15:04:05.000000000 -0700"))
	}
	_, err := w.Cmd.OutOrStdout().Write([]byte(b.String()))
	return err
}
