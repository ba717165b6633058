package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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
	name := strings.Join(args, " ")
	root.SuggestionsMinimumDistance = 2
	if len(args[0]) <= 4 { // else all that have two letters are like one of these
		root.SuggestionsMinimumDistance = 1
	}
	text := fmt.Sprintf("unknown command %q", cli.Cut(name))
	switch like := root.SuggestionsFor(args[0]); {
	case len(args) > 1 || len(like) == 0:
	case len(like) == 1:
		text += fmt.Sprintf(": did you mean %s?", like[0])
	default:
		last := len(like) - 1
		text += fmt.Sprintf(": did you mean %s or %s?", strings.Join(like[:last], ", "), like[last])
	}
	return cli.Usagef("%s", text)
}
