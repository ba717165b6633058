// Package cli is what all commands share at the terminal: usage errors and exit codes, flags for
// sizes, users and choices, printable names, tables, the progress bar, and signals.
//
//	err := cli.Usagef("unknown argument %q", arg) // exit code 2, with a hint at --help
//	squash := cli.NewChoice("root", cli.Named("root", 1), cli.Named("none", 0))
//	flags.Var(squash, "squash", "callers to squash: "+squash.Names())
package cli
