package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Suggestions returns the names of subcommands that are similar to a word.
func Suggestions(above *cobra.Command, word string) []string {
	above.SuggestionsMinimumDistance = 2
	if len(word) <= 4 { // else every name of two letters is similar
		above.SuggestionsMinimumDistance = 1
	}
	return above.SuggestionsFor(word)
}

// FlagsLike returns the names of flags that are similar to a word.
func FlagsLike(f *pflag.FlagSet, word string) []string {
	names := new(cobra.Command) // cobra knows how to compare names of commands
	f.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	return Suggestions(names, word)
}

// DidYouMean returns ": did you mean A or B?", with a prefix before each name; "" if there are no
// names.
func DidYouMean(prefix string, like []string) string {
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
