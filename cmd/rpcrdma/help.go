package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// initHelp adds the command that prints help, and how it looks.
func initHelp(root *cobra.Command) {
	root.SetUsageFunc(cli.Usage)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.RunE = func(_ *cobra.Command, args []string) error { // cobra's does not fail
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, args)
			}
			cmd.InitDefaultHelpFlag()
			cmd.InitDefaultVersionFlag()
			return cmd.Help()
		}
	}
}

// initUnknown has help that is asked for of a command that is not there be an error, which what is
// returned tells when the command line has been carried out. Cobra prints the help of what is above.
func initUnknown(root *cobra.Command) (unknown func() error) {
	var err error
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if rest := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(rest) > 0 {
			err = unknownCommand(cmd, rest[:1])
			return
		}
		help(cmd, args)
	})
	return func() error { return err }
}

// unknownCommand is the usage error of a command that is not there. It names those that may be meant.
func unknownCommand(root *cobra.Command, args []string) error {
	text := fmt.Sprintf("unknown command %q", cli.Cut(strings.Join(args, " ")))
	if len(args) == 1 {
		text += didYouMean("", suggestions(root, args[0]))
	}
	return cli.Usagef("%s", text)
}

// flagError is the usage error of flags. Of one that is not there it names those that may be meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return cli.UsageError{Err: err}
	}
	names := new(cobra.Command) // cobra knows how to compare names of commands
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	return cli.Usagef("%w%s", err, didYouMean("--", suggestions(names, unknown.GetSpecifiedName())))
}

// suggestions returns the names of commands below another that are like a word.
func suggestions(above *cobra.Command, word string) []string {
	above.SuggestionsMinimumDistance = 2
	if len(word) <= 4 { // else all that have two letters are like one of these
		above.SuggestionsMinimumDistance = 1
	}
	return above.SuggestionsFor(word)
}

// didYouMean asks whether names are meant, with a prefix, if there are any.
func didYouMean(prefix string, like []string) string {
	for i := range like {
		like[i] = prefix + like[i]
	}
	switch last := len(like) - 1; last {
	case -1:
		return ""
	case 0:
		return fmt.Sprintf(": did you mean %s?", like[0])
	default:
		return fmt.Sprintf(": did you mean %s or %s?", strings.Join(like[:last], ", "), like[last])
	}
}
