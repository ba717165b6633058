package files

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
)

// lsFlags are the flags of ls.
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
		Long: `Ls lists files, and the contents of directories, one name per line, sorted by bytes. If the
server does not export the directory of a URL but some below it, ls lists those exports.

With -l, a line has type and permissions, the number of links, user and group, the size in bytes
(for devices, the major and minor number), the time of the last change of the data in local
time, the name, and for a link where it leads. NFS version 3 sends users and groups as numbers.
Ls shows the names that these have on this host, which may not be those of the server; -n shows
numbers. The line before says how many KiB all of them take on the server.

Names are printed as they are; on a terminal, names with unprintable characters are quoted. A
link is listed as a link, unless the URL ends with a slash, or the link leads to a directory and
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
	f.BoolVarP(&flags.long, "long", "l", false, "print more about each file than its name")
	f.BoolVarP(&flags.all, "all", "a", false, "list names that begin with a dot, too, but not . and ..")
	f.BoolVarP(&flags.all, "almost-all", "A", false, "the same as -a")
	f.BoolP("one-per-line", "1", false, "list one name per line, as by default")
	f.BoolVarP(&flags.directory, "directory", "d", false, "list directories themselves, not what is in them")
	f.BoolVarP(&flags.recursive, "recursive", "R", false, "list directories below directories, too")
	f.BoolVarP(&flags.numeric, "numeric-uid-gid", "n", false, "like -l, with the numbers of users and groups")
	f.BoolVarP(&flags.human, "human-readable", "h", false,
		"with -l, print sizes such as 1.5K or 234M, in powers of 1024")
	f.BoolVarP(&flags.byTime, "by-time", "t", false, "list the last changed first")
	f.BoolVarP(&flags.bySize, "by-size", "S", false, "list the largest first")
	f.BoolVarP(&flags.unsorted, "unsorted", "U", false, "list in the server's order")
	f.BoolVarP(&flags.reverse, "reverse", "r", false, "reverse the order")
	cli.AddJSONFlag(f, &flags.json, "an object for each file, with all attributes")
	r.AddFlags(cmd)
	f.Bool("help", false, "help for ls") // -h has another meaning
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
		return errors.New("use only one of -t, -S and -U")
	}
	return nil
}
