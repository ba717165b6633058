package files

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// NewDF returns the command df.
func NewDF() *cobra.Command {
	var (
		r     remote.Session
		flags dfFlags
	)
	cmd := &cobra.Command{
		Use:   "df URL...",
		Short: "Show how full file systems are",
		Long: `Df shows the size of the file systems that hold the files of the URLs, and how much of it is
used and free. The unit is 1024 bytes, rounded up, or with --human-readable one that fits.
Available is what the user may use: file systems may reserve the last of the free space. If the
server does not export the directory of a URL but some below it, df shows those exports.`,
		Example: `  rpcrdma df -h rdma://host/data rdma://host/scratch
  rpcrdma df rdma://host/`,
		Args: cli.SomeURLs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t := cli.Table{flags.heading()}
			err := remote.WithWork(cmd, &r, args, func(w *remote.Work) error {
				for _, url := range args {
					if err := flags.add(w, &t, url); err != nil {
						return err
					}
				}
				return nil
			})
			if len(t) > 1 {
				if writeErr := t.Write(cmd.OutOrStdout()); err == nil {
					err = writeErr
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&flags.human, "human-readable", "h", false, "print sizes such as 23M and 1.5T, in powers of 1024")
	f.BoolVarP(&flags.inodes, "inodes", "i", false, "print numbers of files instead of sizes")
	cli.AddJSONFlag(f, &flags.json, "an object for each file system, in bytes and in files")
	f.Bool("help", false, "help for df") // without -h, which has another meaning
	r.AddFlags(cmd)
	return cmd
}

// dfFlags are the flags of df.
type dfFlags struct{ human, inodes, json bool }

// add adds the file system that holds the file of a URL, or those below it. It reports what fails.
// It returns an error only if the command must end.
func (f dfFlags) add(w *remote.Work, t *cli.Table, url string) error {
	p, err := w.Open(url)
	if below := w.ExportsBelow(url, err); len(below) > 0 {
		server, _ := reach.ParseTarget(url) // which Open has parsed before
		for _, name := range below {
			if err := f.add(w, t, server.At(name).String()); err != nil {
				return err
			}
		}
		return nil
	}
	var stat nfs3.FSStat
	if err == nil {
		stat, err = p.FS.StatFS(w.Ctx(), p.Name)
	}
	switch {
	case err != nil:
	case f.json:
		if err := writeDF(w.Cmd.OutOrStdout(), url, &stat); err != nil {
			return err
		}
	default:
		*t = append(*t, f.row(url, &stat))
	}
	return w.Fail(url, err)
}

func (f dfFlags) heading() []string {
	switch {
	case f.inodes:
		return []string{"Filesystem", "Inodes", "IUsed", "IFree", "IUse%"}
	case f.human:
		return []string{"Filesystem", "Size", "Used", "Avail", "Use%"}
	}
	return []string{"Filesystem", "1K-blocks", "Used", "Available", "Use%"}
}

// row describes a file system. Servers say 0 files if a file system has no fixed number; row leaves
// that out.
func (f dfFlags) row(name string, s *nfs3.FSStat) []string {
	total, free, avail := s.TotalBytes, s.FreeBytes, s.AvailBytes
	if f.inodes {
		total, free, avail = s.TotalFiles, s.FreeFiles, s.AvailFiles
		if total == 0 {
			return []string{cli.Printable(name), "-", "-", "-", "-"}
		}
	}
	used := total - min(free, total)
	return []string{cli.Printable(name), f.number(total), f.number(used), f.number(avail), percent(used, avail)}
}

func (f dfFlags) number(n uint64) string {
	switch {
	case f.human:
		return cli.HumanSize(n)
	case f.inodes:
		return strconv.FormatUint(n, 10)
	}
	blocks := n / 1024
	if n%1024 != 0 {
		blocks++
	}
	return strconv.FormatUint(blocks, 10)
}

// percent is the used part of what the user may use, rounded up.
func percent(used, avail uint64) string {
	for used > 1<<56 || avail > 1<<56 { // so that nothing overflows
		used, avail = used>>8, avail>>8
	}
	all := used + avail
	if all == 0 {
		return "-"
	}
	return strconv.FormatUint((used*100+all-1)/all, 10) + "%"
}
