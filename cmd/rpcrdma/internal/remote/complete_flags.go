package remote

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CompleteFlags has the values of flags completed that are one of some words or, as far as the
// scheme, a URL. A flag that is completed already, by a function of its own, stays as it is.
func CompleteFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(interface{ Words() []string }); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(c.Words(), cobra.ShellCompDirectiveNoFileComp))
			return
		}
		if kind, _ := pflag.UnquoteUsage(f); kind == "URL" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
				return SchemesLike(word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			})
		}
	})
}
