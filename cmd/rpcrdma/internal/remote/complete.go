package remote

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// completeTime bounds completion with the help of servers.
const completeTime = 3 * time.Second

// InitCompletion adds the command completion.
func InitCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			// without RunE, cobra ignores the arguments
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, c := range append(c.Commands(), c) {
				check := c.Args
				c.Args = func(cmd *cobra.Command, args []string) error {
					if err := check(cmd, args); err != nil {
						return cli.UsageError{Err: err}
					}
					return nil
				}
			}
		}
	}
}

// Completed adds completion of arguments to commands: of URLs from argument first on, and if local
// is set, of files of this host.
func Completed(first int, local bool, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.ValidArgsFunction = func(
			cmd *cobra.Command, args []string, word string,
		) ([]string, cobra.ShellCompDirective) {
			if len(args) < first {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return CompleteWord(cmd, word, local)
		}
	}
	return commands
}

// CompleteWord completes one argument.
func CompleteWord(cmd *cobra.Command, word string, local bool) ([]string, cobra.ShellCompDirective) {
	if reach.IsURL(word) {
		words, directory := completeURL(cmd, word)
		if directory {
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	if local && word == "" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	words := SchemesLike(word)
	if local && len(words) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// SchemesLike returns the schemes, with ://, that begin with a word.
func SchemesLike(word string) (words []string) {
	for _, scheme := range []string{"rdma://", reach.SchemeRoCE + "://", reach.SchemeSCTP + "://", "tcp://", "nfs://"} {
		if strings.HasPrefix(scheme, word) {
			words = append(words, scheme)
		}
	}
	return words
}

// completeURL returns the URLs that begin with url. directory says that the last word may continue,
// as a directory does. Above the exports, it completes the paths of exports.
func completeURL(cmd *cobra.Command, url string) (words []string, directory bool) {
	if rest, query, ok := strings.Cut(url, "?"); ok {
		words = completeOption(rest+"?", query)
		return words, len(words) == 1 && strings.HasSuffix(words[0], "=")
	}
	at := strings.LastIndexByte(url, '/') + 1
	above, begun := url[:at], parsePartial(url[at:])
	t, err := reach.ParseTarget(above)
	if err != nil || strings.HasSuffix(above, "://") {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	r := remotesLike(cmd)
	defer r.Close()
	add := func(name string, isDir bool) {
		if word, ok := begun.completed(name); ok {
			if isDir {
				word, directory = word+"/", true
			}
			words = append(words, above+word)
		}
	}
	m, name, err := r.Open(ctx, above)
	if errors.As(err, new(mount3.Status)) {
		list, _ := r.Exports(ctx, above)
		for _, e := range list {
			if below, ok := strings.CutPrefix(e.Path, t.Path); ok && below != "" {
				add(below, true)
			}
		}
	}
	if err != nil {
		return words, directory
	}
	dir, err := m.FS.Stat(ctx, name)
	if err != nil {
		return nil, false
	}
	for e, err := range m.Client.ReadDir(ctx, dir.Handle()) {
		if err != nil {
			break // a part of the list helps, too
		}
		if e.Name[0] != '.' || begun.hidden() {
			add(e.Name, e.Attr.Present && e.Attr.Attr.Type == nfs3.TypeDir)
		}
	}
	slices.Sort(words)
	return words, directory
}

// completeOption completes the last option of a URL. Of options that take a value it completes the
// name.
func completeOption(before, query string) (words []string) {
	at := strings.LastIndexByte(query, '&') + 1
	options := []string{"mountport=", "rpcbind"}
	for _, f := range reach.Secs {
		options = append(options, "sec="+f.String())
	}
	if strings.HasPrefix(before, "tcp:") || strings.HasPrefix(before, "nfs:") {
		options = append(options, "tls")
	}
	for _, o := range options {
		key, _, _ := strings.Cut(o, "=")
		if strings.HasPrefix(o, query[at:]) && !strings.Contains("&"+query[:at], "&"+key) {
			words = append(words, before+query[:at]+o)
		}
	}
	return words
}

// remotesLike returns a Session with the flags of a command line under completion.
func remotesLike(cmd *cobra.Command) *Session {
	var r Session
	like := &cobra.Command{}
	r.AddFlags(like)
	like.Flags().VisitAll(func(f *pflag.Flag) {
		if given := cmd.Flags().Lookup(f.Name); given != nil && given.Changed {
			_ = f.Value.Set(given.Value.String()) // a value of the same type
		}
	})
	return &r
}
