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
		"copy directories with what is in them; links as links")
	f.BoolVarP(&o.preserve, "preserve", "p", false,
		"keep mode, times and, where permitted, owner and group")
	f.BoolFuncP("archive", "a", "the same as -rp", func(string) error {
		o.Recursive, o.preserve = true, true
		return nil
	})
	f.BoolVarP(&o.asName, "no-target-directory", "T", false,
		"the last argument is the new name, not a directory to copy into")
	f.BoolVarP(&o.update, "update", "u", false,
		"skip files that are unchanged: of the same size, and not newer or, with -p, of the same time")
	f.BoolVarP(&o.checksum, "checksum", "c", false,
		"skip files that have the same content, which is read at both ends; times do not matter")
	f.BoolVar(&o.ignoreExisting, "ignore-existing", false,
		"skip files whose copy has its name already, whatever is in it")
	f.BoolVar(&o.dryRun, "dry-run", false, "copy nothing, but say what would be copied where")
	f.BoolVar(&o.partial, "partial", false,
		"keep what there is of a file of 4 MiB or more when its copy breaks off, and go on from "+
			"there the next time")
	f.BoolVar(&o.sparse, "sparse", false, "leave holes where a file has holes or zeros")
	f.Var(&o.limit, "bwlimit",
		"most bytes of content a second, of all files together, such as 10MiB")
	f.Lookup("bwlimit").DefValue = "" // none
	f.BoolVarP(&o.verbose, "verbose", "v", false,
		"name each file when it has been copied, or why it is skipped, and say when a server is "+
			"slow to answer")
	f.BoolVarP(&o.quiet, "quiet", "q", false,
		"say nothing but errors: no progress bar, no line at the end")
	f.BoolVar(&o.json, "json", false, "print in the end one JSON object instead of the line")
}

// newCopier returns what carries a command out. On a terminal that the data goes to there is no
// bar.
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
	if o.json { // which is alone there
		c.dryTo = c.bar
	}
	c.opt.verbose = o.verbose && !o.quiet
	if c.pace != nil {
		r.Pace = c.pace.waitFor
		r.Flags.Size = min(r.Flags.Size, remote.TransferFlag(max(o.limit/burst, leastTransfer)))
	}
	return c
}

// leastTransfer is the least of a READ or WRITE that a limit makes smaller: larger ones would pass
// in bursts.
const leastTransfer = 4 << 10

// long and exits are what the help of get, put and cp has in common.
const (
	long = `
A file is written under a temporary name, .rpcrdma- and ten characters, in the directory that it
goes to, and renamed when it is complete: under its own name it is never seen in part, and one
that exists is replaced even if it is read-only. A file that replaces another takes over its
permissions and, where permitted, its owner, unless -p says otherwise. Other new files have the
permissions of the source that the umask leaves.

A file that changes while it is copied, as far as its size and times tell, is copied once more. If
it changes again it is not copied, and the exit code is 1.

With -r symbolic links are copied as links, also where they are named on the command line, unless
with a slash at the end; without -r they are followed. Devices, FIFOs and sockets are not copied
with -r: a message says so, and the exit code is 1. Hard links become separate files. A directory
goes into a directory that exists, as with cp, and what is there already stays, unless it is
replaced. A link that exists in a directory is replaced, not followed.

So that a copy that is repeated does not end up in the first one, a directory is not copied into
one of the same name unless that name is written twice. With -T the last argument is the name of
the copy in any case: what is in a directory goes into the directory that has that name. A slash
behind it says that it is a directory.

-p keeps permissions, set-user-ID and the like included, and the times of access and change, in
nanoseconds, also of directories and, where the system can, of links. Owner and group are kept, by
their numbers, if the caller may do that: if not, set-user-ID and set-group-ID are dropped,
without a message.

A copy that is repeated copies all again, as cp does. -u copies what has changed: with -p, files
whose size or time is another than that of their copy; without, those of another size, and newer
ones; links that lead elsewhere. What -p keeps is set where it has changed: -auT brings a copy up to
date. Each directory is listed once for that, and files are not read. -c reads files of the same
size at both ends, and copies those with other content. What is not in the source any more stays.
`
	exits = `
A command that is killed leaves its temporary files. A later copy to the same directory removes those
that nobody has written to for a day and that the user who copies owns; rm --partials URL removes
all of a server's directory.

With --partial the temporary file of one of 4 MiB or more has always the same name, and stays if the
copy breaks off, killed or not. The same command then compares what is there with the source, at both
ends, says how much is the same, and goes on behind that. Only one copy to a name may be under way.
What is read from standard input or from a device cannot be compared: it begins anew.

An interrupt removes the temporary files. With -r, directories and the files that were complete
stay. If the server does not answer then, this takes some seconds; a second interrupt, at least a
second after the first, ends the command at once.

In the end a line on standard error says how many files have been copied, how many bytes of content
were transferred, in which time since the command began and at which rate, how many files were
skipped and how many errors there were. -q leaves that out, and so does a single error that says
it. With --json it is an object on standard output, or on standard error if the data goes to
standard output; docs/json.md has its fields. All other messages are on standard error.

When a file cannot be copied, the others are. Those for which there was no room are tried once more
in the end, the smallest first: a large one may have taken it, until it failed.

The exit code is 0 if all is copied, 1 if something is not, 2 if the command line is wrong, 130 after
an interrupt, and 143 after SIGTERM.`
)

// into finds two sources that would be copied to the same name.
type into map[string]bool

func (m into) claim(to place, as string) error {
	if m[as] {
		return words.About(to.show(as), words.ErrTwice)
	}
	m[as] = true
	return nil
}
