package files

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// lsFlags are how files are listed.
type lsFlags struct {
	long      bool
	all       bool
	directory bool
	recursive bool
	human     bool
	numeric   bool
	reverse   bool
	byTime    bool
	bySize    bool
	unsorted  bool
	json      bool
}

// NewLs returns the command ls.
func NewLs() *cobra.Command {
	var flags lsFlags
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "ls URL...",
		Short: "List directories",
		Long: `Ls lists files, and what is in directories: names sorted by their bytes, one a line. Where
the server does not export the directory of a URL, but some below it, ls lists these.

With -l a line has type and permissions, number of links, user and group, bytes (of devices
major and minor number), time of the last change of the data in local time, and name; of a
link, where it leads. NFS version 3 tells the numbers of users and groups: those that this host has
a name for are shown by that, which may be another one on the server; -n shows numbers. In front
are the KiB that all take on the server.

Names are printed as they are; on a terminal, those with other than printable characters are
quoted. A link is shown as such, unless the URL ends with a slash, or leads to a directory and
neither -l nor -d is given.`,
		Example: `  rpcrdma ls -l rdma://host/export
  rpcrdma ls 'tcp://host/export/a dir?mountport=635'
  rpcrdma ls rdma://host/`,
		Args: cli.SomeURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			flags.long = flags.long || flags.numeric
			if err := flags.check(); err != nil {
				return cli.UsageError{Err: err}
			}
			return ls(cmd, &r, flags, urls)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&flags.long, "long", "l", false, "more about each file than its name")
	f.BoolVarP(&flags.all, "all", "a", false, "names that begin with a dot, too (but neither . nor ..)")
	f.BoolVarP(&flags.all, "almost-all", "A", false, "the same as -a")
	f.BoolP("one-per-line", "1", false, "one name a line, as without it")
	f.BoolVarP(&flags.directory, "directory", "d", false, "a directory itself, not what is in it")
	f.BoolVarP(&flags.recursive, "recursive", "R", false, "directories in directories, too")
	f.BoolVarP(&flags.numeric, "numeric-uid-gid", "n", false, "as -l, with the numbers of users and groups")
	f.BoolVarP(&flags.human, "human-readable", "h", false, "with -l: sizes such as 1.5K or 234M, in powers of 1024")
	f.BoolVarP(&flags.byTime, "by-time", "t", false, "the last changed first")
	f.BoolVarP(&flags.bySize, "by-size", "S", false, "the largest first")
	f.BoolVarP(&flags.unsorted, "unsorted", "U", false, "in the server's order")
	f.BoolVarP(&flags.reverse, "reverse", "r", false, "in the reverse order")
	cli.AddJSONFlag(f, &flags.json, "an object for each file, with all attributes")
	r.AddFlags(cmd)
	f.Bool("help", false, "help for ls") // -h is taken
	return cmd
}

func (f *lsFlags) check() error {
	n := 0
	for _, set := range []bool{f.byTime, f.bySize, f.unsorted} {
		if set {
			n++
		}
	}
	if n > 1 {
		return errors.New("of -t, -S and -U there can be one: an order")
	}
	return nil
}
