package copying

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// addFlags defines the flags of get, put and cp.
func (o *Options) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&o.Recursive, "recursive", "r", false,
		"copy directories with all that is in them, and links as links")
	f.BoolVarP(&o.preserve, "preserve", "p", false,
		"keep permissions, times and, where permitted, owner and group")
	f.BoolFuncP("archive", "a", "the same as -rp", func(string) error {
		o.Recursive, o.preserve = true, true
		return nil
	})
	f.BoolVarP(&o.asName, "no-target-directory", "T", false,
		"the last argument is the new name, not a directory to copy into")
	f.BoolVarP(&o.update, "update", "u", false,
		"skip unchanged files: those of the same size that are not newer or, with -p, have the same time")
	f.BoolVarP(&o.checksum, "checksum", "c", false,
		"skip files with the same contents, which are read at both ends; times do not matter")
	f.BoolVar(&o.ignoreExisting, "ignore-existing", false,
		"skip files whose copy already exists, whatever is in it")
	f.BoolVar(&o.dryRun, "dry-run", false, "copy nothing; say what would be copied where")
	f.BoolVar(&o.partial, "partial", false,
		"if the copy of a file of 4 MiB or more breaks off, keep what there is, and go on from "+
			"there the next time")
	f.BoolVar(&o.sparse, "sparse", false, "leave holes where a file has holes or zeros")
	f.Var(&o.limit, "bwlimit",
		"most bytes of content per second, for all files together, such as 10MiB")
	f.Lookup("bwlimit").DefValue = "" // none
	f.BoolVarP(&o.verbose, "verbose", "v", false,
		"name each file that has been copied, say why one is skipped, and when a server is slow "+
			"to answer")
	f.BoolVarP(&o.quiet, "quiet", "q", false,
		"print errors only: no progress bar, and no line at the end")
	f.BoolVar(&o.json, "json", false,
		"print one JSON object at the end instead of the line; docs/json.md has the fields")
}

// newCopier returns the copier of a command. It shows no bar on a terminal that the data goes to.
func (o *Options) newCopier(cmd *cobra.Command, r *remote.Session, verb string, toStdout bool) *copier {
	c := &copier{Options: *o, pace: newPace(o.limit), teller: teller{
		opt:     o.telling,
		verb:    verb,
		bar:     &cli.Bar{W: cmd.ErrOrStderr()},
		work:    &remote.Work{Cmd: cmd, Remotes: r},
		results: cmd.OutOrStdout(),
		dryTo:   cmd.OutOrStdout(),
		began:   time.Now(),
	}}
	if !o.quiet && !(toStdout && cli.OnTerminal(cmd)) {
		c.bar = cli.NewBar(cmd.ErrOrStderr())
	}
	r.Stderr = func() io.Writer { return c.bar }
	if o.quiet {
		r.Stderr = func() io.Writer { return io.Discard }
	}
	if toStdout {
		c.results = c.bar
	}
	r.Verbose = o.verbose
	if o.json { // JSON must be alone on standard output
		c.dryTo = c.bar
	}
	c.opt.verbose = o.verbose && !o.quiet
	if c.pace != nil {
		r.Pace = c.pace.waitFor
		r.Flags.Size = min(r.Flags.Size, remote.TransferFlag(max(o.limit/burst, leastTransfer)))
	}
	return c
}

// leastTransfer is the smallest READ or WRITE, in bytes, that --bwlimit leads to: with a low limit,
// larger ones would pass in bursts.
const leastTransfer = 4 << 10

// long and exits are the parts of the help that get, put and cp share.
const (
	long = `
Files are written under a temporary name in the directory that they go to, .rpcrdma- and ten
characters, and renamed when they are complete. So nobody sees part of a file under its own
name, and a file that exists is replaced even if it is read-only. A file that replaces another
takes over its permissions and, where permitted, its owner, unless -p is given. Other new files
have the permissions of the source, less the umask.

If the size or the times of a file change while it is copied, or another file replaces it, it is
copied once more. If that happens again, it is not copied, and the exit code is 1.

Without -r, symbolic links are followed. With -r they are copied as links, also those that the
command line names, unless the name ends with a slash. Devices, FIFOs and sockets are not copied
with -r: a message says so, and the exit code is 1. Hard links become separate files. If the
target is a directory that exists, the copy goes into it, as with cp(1); what is there already
stays, unless it is replaced. A link that is there is replaced, not followed.

A repeated copy does not end up inside the first one: a directory is not copied into a directory
of the same name, unless that name is written twice. With -T, the last argument is always the
name of the copy: the contents of a directory go into the directory that has that name. A slash
at the end of the last argument says that it is a directory.

-p keeps the permissions, with set-user-ID and the like, and the times of last access and last
change, in nanoseconds. NFS version 3 has the times from 1970 to 2106; others become the nearest
of these. -p does so for directories, too, and for links where the system can. It keeps owner
and group, by number, if the caller may set them; if not, it drops set-user-ID and set-group-ID
without a message.

A repeated copy copies everything again, as with cp(1), unless -u or -c is given. -u copies
links that lead elsewhere, and files that have changed: with -p, those whose size or time
differs from that of the copy; without -p, those of another size, and newer ones. It lists each
directory once, and does not read files. If what -p keeps has changed, it is set again: -auT
brings a copy up to date. -c reads files of the same size at both ends, and copies those whose
contents differ. What is no longer in the source stays in the copy.
`
	exits = `
A command that is killed leaves its temporary files. A later copy into the same directory
removes those that its user owns and that nobody has written to for a day. rm --partials URL
removes all in a directory of a server.

With --partial, the temporary file of a file of 4 MiB or more always has the same name, and
stays if the copy breaks off or is killed. The same command then compares it with the source, at
both ends, says how much is the same, and goes on from there. Only one copy to a name may be
under way. Data from standard input or from a device cannot be compared: that copy begins anew.

An interrupt removes the temporary files. If the server does not answer, this takes some seconds;
a second interrupt, at least a second after the first, ends the command at once. With -r,
directories and complete files stay; with -p, the directories get their permissions and owner.
The same command with -u copies the rest; add -T if the last argument was a new name.

At the end, a line on standard error says how many files were copied, how many bytes of content
were transferred, in which time and at which rate, how many files were skipped, and how many
errors there were. It is left out with -q, and if a single error says it all. With --json it is
an object on standard output, or on standard error if the data goes to standard output;
docs/json.md describes the fields. All other messages are on standard error.

If a file cannot be copied, the others still are. Files for which there was no room are tried
once more at the end, the smallest first: a large one may have taken the room until it failed.

The exit code is 0 if everything was copied, 1 if something was not, 2 if the command line is
wrong, 130 after an interrupt, and 143 after SIGTERM.`
)

// into detects two sources that would be copied to the same name.
type into map[string]bool

func (m into) claim(to place, as string) error {
	if m[as] {
		return words.About(to.show(as), words.ErrTwice)
	}
	m[as] = true
	return nil
}
