package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageWidth is the largest width of the lines of flags, in columns.
const usageWidth = 100

// connectionFlag marks the flags that all commands have which connect to a server.
const connectionFlag = "connection"

// AddConnectionFlags adds flags to a command that --help shows after the command's own.
func AddConnectionFlags(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{connectionFlag: nil}
		cmd.Flags().AddFlag(f)
	})
}

// HasConnectionFlags reports whether a command has such flags.
func HasConnectionFlags(cmd *cobra.Command) (has bool) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		has = has || IsConnectionFlag(f)
	})
	return has
}

// IsConnectionFlag reports whether AddConnectionFlags has added a flag.
func IsConnectionFlag(f *pflag.Flag) bool {
	_, ok := f.Annotations[connectionFlag]
	return ok
}

// Usage prints what follows the long text in the help of a command.
func Usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.HasParent() && cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	groups := cmd.Groups()
	if len(groups) == 0 && cmd.HasAvailableSubCommands() {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s\n", g.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	sets := []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags:", new(pflag.FlagSet)}, {"Connection:", new(pflag.FlagSet)}}
	all := cmd.LocalFlags()
	all.SortFlags = cmd.Flags().SortFlags
	all.VisitAll(func(f *pflag.Flag) {
		set := sets[0].flags
		if IsConnectionFlag(f) {
			set = sets[1].flags
		}
		set.AddFlag(f)
	})
	for _, s := range sets {
		s.flags.SortFlags = false
		if s.flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s\n%s", s.title, s.flags.FlagUsagesWrapped(usageWidth))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s [command] --help' says more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStdout(), b.String())
	return err
}
