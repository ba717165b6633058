package files

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// touchFlags are the flags of touch.
type touchFlags struct {
	access   bool
	modified bool
	noCreate bool
	date     string
	like     string // a URL

	atime, mtime nfs3.SetTime
}

// NewTouch returns the command touch.
func NewTouch() *cobra.Command {
	var flags touchFlags
	var r remote.Session
	cmd := &cobra.Command{
		Use:   "touch URL...",
		Short: "Set the times of files, or create empty ones",
		Long: `Touch sets the times of last access and last change of files, to the server's current time or to
what -d or -r says. It creates a file that does not exist, with mode 666 less the umask of this
process.

TIME has one of these forms:

  2006-01-02T15:04:05Z    or with a fraction of a second, or a zone such as +01:00 or +0100
  2006-01-02T15:04:05     in the zone of this host; also 2006-01-02 15:04[:05], or 2006-01-02
  @1136214245             seconds since 1970
  what stat prints

NFS version 3 has the times from 1970 to 2106.`,
		Example: `  rpcrdma touch rdma://host/export/file
  rpcrdma touch -m -d 2006-01-02T15:04:05Z rdma://host/export/file`,
		Args: cli.SomeURLs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			if err := flags.check(cmd.Flags().Changed("date")); err != nil {
				return cli.UsageError{Err: err}
			}
			all := urls
			if flags.like != "" {
				all = append([]string{flags.like}, urls...)
			}
			return remote.WithWork(cmd, &r, all, func(w *remote.Work) error { return flags.touch(w, urls) })
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&flags.access, "access", "a", false, "set only the time of last access")
	f.BoolVarP(&flags.modified, "modified", "m", false, "set only the time of last change")
	f.BoolVarP(&flags.noCreate, "no-create", "c", false, "do not create files")
	f.StringVarP(&flags.date, "date", "d", "", "set this `TIME`, see above; default now")
	f.StringVarP(&flags.like, "reference", "r", "", "set the times of the file at this `URL`")
	r.AddFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("reference",
		func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return remote.CompleteWord(cmd, word, false)
		}) // the flag exists
	return cmd
}

func (f *touchFlags) check(dated bool) error {
	if !f.access && !f.modified {
		f.access, f.modified = true, true
	}
	if dated && f.like != "" {
		return errors.New("use only one of -d and -r: both say which time to set")
	}
	set := nfs3.SetTime{How: nfs3.ToServerTime}
	if dated {
		t, err := parseTime(f.date, time.Local)
		if err != nil {
			return err
		}
		set = nfs3.SetTime{How: nfs3.ToClientTime, To: t}
	}
	f.set(set, set)
	return nil
}

// set notes the times, those that are to be set.
func (f *touchFlags) set(atime, mtime nfs3.SetTime) {
	if f.access {
		f.atime = atime
	}
	if f.modified {
		f.mtime = mtime
	}
}

func (f *touchFlags) touch(w *remote.Work, urls []string) error {
	if f.like != "" {
		p, err := w.Open(f.like)
		if err != nil {
			return w.Fail(f.like, err)
		}
		i, err := p.Stat(w.Ctx(), true)
		if err != nil {
			return w.Fail(f.like, err)
		}
		f.set(nfs3.SetTime{How: nfs3.ToClientTime, To: i.Attr().Atime},
			nfs3.SetTime{How: nfs3.ToClientTime, To: i.Attr().Mtime})
	}
	for _, url := range urls {
		p, err := w.Open(url)
		if err == nil {
			err = f.one(w, p)
		}
		if err := w.Fail(url, err); err != nil {
			return err
		}
	}
	return nil
}

// one touches one file.
func (f *touchFlags) one(w *remote.Work, p remote.Operand) error {
	i, err := p.Stat(w.Ctx(), true)
	if errors.Is(err, fs.ErrNotExist) && !p.Dir {
		if f.noCreate {
			return nil
		}
		file, err := p.FS.OpenFile(w.Ctx(), p.Name, os.O_WRONLY|os.O_CREATE, 0o666&^remote.Umask)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
		if i, err = p.Stat(w.Ctx(), true); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	_, err = p.Client.SetAttr(w.Ctx(), i.Handle(), nfs3.Sattr{Atime: f.atime, Mtime: f.mtime}, nil)
	return err
}
