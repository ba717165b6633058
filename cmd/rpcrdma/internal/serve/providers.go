package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// servable are the providers that serve can listen on, in the order in which it does.
var servable = []string{"iwarp", "roce", "sctp"}

// providersFlag is --provider.
type providersFlag []string

// Set takes names with commas between them, in any order.
func (f *providersFlag) Set(s string) error {
	var got []string
	for name := range strings.SplitSeq(s, ",") {
		switch {
		case name == "loopback":
			return errors.New("loopback stays inside one process, where no client can reach it")
		case !slices.Contains(servable, name):
			return fmt.Errorf("unknown provider %q: write %s, or several of them, separated by commas", name,
				strings.Join(servable, ", "))
		case slices.Contains(got, name):
			return fmt.Errorf("%s is given twice", name)
		}
		got = append(got, name)
	}
	*f = slices.DeleteFunc(slices.Clone(servable), func(name string) bool { return !slices.Contains(got, name) })
	return nil
}

// String returns the names.
func (f *providersFlag) String() string { return strings.Join(*f, ",") }

// Type names the value in the usage.
func (f *providersFlag) Type() string { return "LIST" }

// completeProviders completes the last name of a list.
func completeProviders(_ *cobra.Command, _ []string, word string) (words []string, _ cobra.ShellCompDirective) {
	before := word[:strings.LastIndexByte(word, ',')+1]
	for _, name := range servable {
		if !slices.Contains(strings.Split(before, ","), name) {
			words = append(words, before+name)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
