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

// unknownCommand is the usage error of a command that is not there. It names those that may be meant.
func unknownCommand(root *cobra.Command, args []string) error {
	name := strings.Join(args, " ")
	root.SuggestionsMinimumDistance = 2
	if len(args[0]) <= 2 { // else all that have two letters are like it
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
