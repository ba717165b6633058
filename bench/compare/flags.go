package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// With the defaults a run takes less than two minutes.
const (
	defaultTime   = 60 * time.Millisecond
	defaultRounds = 4
	defaultStarts = 2
)

// flags are the flags of the command.
type flags struct {
	options paired.Options
	only    *regexp.Regexp // nil means all except the extra ones
	large   bool
	list    bool
	csv     string
	json    string
}

const usage = `Usage: go run . [flags]

Compares the speed of NFS over iWARP with other NFS implementations, on 127.0.0.1. Prints a table of
our speed divided by theirs. Programs that are not installed are left out. Use Linux and run it as
root: see go doc.

`

func parseFlags(args []string) (*flags, error) {
	o, err := env.Read(env.Default())
	if err != nil {
		return nil, err
	}
	f := &flags{options: o}
	fs := flag.NewFlagSet("compare", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	fs.DurationVar(&f.options.Time, "time", defaultTime, "length of a round")
	fs.IntVar(&f.options.Rounds, "rounds", defaultRounds, "rounds of each side per start of the processes")
	fs.IntVar(&f.options.Starts, "starts", defaultStarts, "number of starts of the processes")
	fs.Func("only", "make only the comparisons that match this `regexp`, including those left out by "+
		"default; -list shows all",
		func(s string) (err error) {
			f.only, err = regexp.Compile(s)
			return err
		})
	fs.BoolVar(&f.large, "large", false, "also list a directory of 100,000 entries")
	fs.BoolVar(&f.list, "list", false, "print all comparisons, or those that match -only, without making them")
	fs.StringVar(&f.csv, "csv", "", "write the results to a `file` as CSV")
	fs.StringVar(&f.json, "json", "", "write the results, with those of each round, to a `file` as JSON")
	fs.StringVar(&f.options.Profile, "profile", f.options.Profile,
		"write CPU profiles of our server and client, from a separate run of 2 s, to a `directory`")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q", fs.Arg(0))
		fmt.Fprintln(os.Stderr, err)
		return nil, err
	}
	return f, nil
}

// selected returns the comparisons that the flags ask for.
func (f *flags) selected() []comparison {
	var all []comparison
	for _, c := range comparisons() {
		switch {
		case f.only != nil && !f.only.MatchString(c.String()):
			continue
		case f.only == nil && !f.list && (c.extra || c.large && !f.large):
			continue
		}
		all = append(all, c)
	}
	return all
}
