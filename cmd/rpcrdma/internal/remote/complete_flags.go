package remote

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CompleteFlags adds completion of flags whose values are words, or URLs, of which it completes the
// scheme. It leaves flags alone that have a completion function.
func CompleteFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(interface{ Words() []string }); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(c.Words(), cobra.ShellCompDirectiveNoFileComp))
			return
		}
		if kind, _ := pflag.UnquoteUsage(f); kind == "URL" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
					return SchemesLike(word), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
				})
		}
	})
}
