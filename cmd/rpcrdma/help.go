package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// initHelp adds the command help, and the layout of all help.
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

// initUnknown makes --help of an unknown command an error; cobra would print the help of the
// command above. The function that it returns gives that error when the command line has been
// executed.
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

// unknownCommand is the usage error of an unknown command. It suggests similar ones.
func unknownCommand(root *cobra.Command, args []string) error {
	text := fmt.Sprintf("unknown command %q", cli.Cut(strings.Join(args, " ")))
	if len(args) == 1 {
		text += cli.DidYouMean("", cli.Suggestions(root, args[0]))
	}
	return cli.Usagef("%s", text)
}

// flagError is the usage error of a flag. For an unknown one it suggests similar ones.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return cli.UsageError{Err: err}
	}
	like := cli.FlagsLike(cmd.Flags(), unknown.GetSpecifiedName())
	return cli.Usagef("%w%s", err, cli.DidYouMean("--", like))
}
